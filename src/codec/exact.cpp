// `lynx-exact`: the streams of `lynx`, and a third one that restores every bit of the BF16 input. It drafts
// on the anchor; the truth is the exact level. The residual enables nothing new by itself: it is what the
// third stream builds on (kernels/exact.hpp has the format).
#include <vector>

#include "codec/lynx_format.hpp"
#include "codec/shape.hpp"
#include "kernels/exact.hpp"

namespace lynxkv::codec {

std::unique_ptr<Codec> make_lynx(const CodecOptions& options);

namespace {

constexpr StreamSpec three_streams[] = {
    {StreamId::anchor, Level::draft}, {StreamId::residual, Level::draft}, {StreamId::exact, Level::exact}};

kernels::ExactWorkspace& workspace() {
  thread_local kernels::ExactWorkspace memory;
  return memory;
}

class LynxExact final : public Codec {
 public:
  explicit LynxExact(const CodecOptions& options)
      : lynx_(make_lynx(options)), format_(options), tables_k_(tables(page::Kind::key)), tables_v_(tables(page::Kind::value)) {}

  std::string_view name() const noexcept override { return "lynx-exact"; }
  std::span<const StreamSpec> streams() const noexcept override { return three_streams; }
  Level target() const noexcept override { return Level::exact; }

  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::exact) return lynx_->payload_bytes(stream, shape, raw);
    return raw ? 0 : kernels::exact_bound_bytes(format_.layout(shape));
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    out.payload[2].clear();
    const kernels::PageOutcome outcome = format_.encode(rows, shape, out.payload[0], &out.payload[1]);
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows, shape, out);
      return {};
    }
    kernels::exact_encode(rows, out.payload[0].data(), out.payload[1].data(), format_.layout(shape), format_.coding(shape),
                          tables_of(shape), workspace(), out.payload[2]);
    format_.move_early(shape, out.payload[0], out.payload[1]);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level == Level::draft) return lynx_->decode(level, in, shape, rows);
    if (level != Level::exact) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) {
      if (auto sized = check_payload(StreamId::residual, in.payload[1], 0); !sized) return sized;
      if (auto sized = check_payload(StreamId::exact, in.payload[2], 0); !sized) return sized;
      return decode_raw(in, shape, rows);
    }
    if (auto sound = format_.check(shape, in.payload[0], in.payload[1], true); !sound) return sound;
    thread_local std::vector<std::byte> whole;
    auto residual = format_.whole_residual(shape, in.payload[0], in.payload[1], true, whole);
    if (!residual) return residual.error();
    return kernels::exact_decode(in.payload[0].data(), residual.value(), in.payload[2], format_.layout(shape),
                                 format_.coding(shape), tables_of(shape), workspace(), rows);
  }

 private:
  kernels::ExactTables tables(page::Kind kind) const {
    TensorShape shape;
    shape.kind = kind;
    return kernels::make_exact_tables(format_.coding(shape).tables);
  }
  const kernels::ExactTables& tables_of(const TensorShape& shape) const noexcept {
    return shape.kind == page::Kind::key ? tables_k_ : tables_v_;
  }

  std::unique_ptr<Codec> lynx_;
  LynxFormat format_;
  kernels::ExactTables tables_k_, tables_v_;
};

}  // namespace

std::unique_ptr<Codec> make_lynx_exact(const CodecOptions& options) {
  return std::make_unique<LynxExact>(options);
}

}  // namespace lynxkv::codec
