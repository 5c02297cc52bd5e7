// The `lynx` family. All three modes write the same bytes; they differ in what a decoder does with them:
//   lynx-int4  the anchor alone, taken for the truth
//   lynx-int8  both streams, nothing usable before the second
//   lynx       drafts on the anchor, the truth with the residual
#include <algorithm>
#include <string>

#include "codec/lynx_format.hpp"
#include "codec/shape.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec anchor_only[] = {{StreamId::anchor, Level::target}};
constexpr StreamSpec blocking[] = {{StreamId::anchor, Level::none}, {StreamId::residual, Level::target}};
constexpr StreamSpec progressive[] = {{StreamId::anchor, Level::draft}, {StreamId::residual, Level::target}};

// Scratch of the calling thread, kept between pages: a whole residual.
std::vector<std::byte>& scratch() {
  thread_local std::vector<std::byte> memory;
  return memory;
}

class Lynx final : public Codec {
 public:
  Lynx(std::string_view name, std::span<const StreamSpec> streams, const CodecOptions& options)
      : name_(name), streams_(streams), format_(options) {}

  std::string_view name() const noexcept override { return name_; }
  std::span<const StreamSpec> streams() const noexcept override { return streams_; }
  Level target() const noexcept override { return Level::target; }

  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (raw) return stream == StreamId::anchor ? raw_bytes(shape) : 0;
    if (stream == StreamId::anchor) return format_.anchor_bytes(shape);
    return stream == StreamId::residual && has_residual() ? format_.residual_bytes(shape) : 0;
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const bool early = format_.early(shape).any();
    std::vector<std::byte>& residual = has_residual() ? out.payload[1] : scratch();
    const kernels::PageOutcome outcome =
        format_.encode(rows, shape, out.payload[0], has_residual() || early ? &residual : nullptr);
    if (!has_residual()) out.payload[1].clear();
    out.payload[2].clear();
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw)
      encode_raw(rows, shape, out);
    else if (early)
      format_.move_early(shape, out.payload[0], residual);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    const bool known = std::any_of(streams_.begin(), streams_.end(), [&](const StreamSpec& s) { return s.enables == level; });
    if (level == Level::none || !known) return no_such_level(name_, level);
    if (auto checked = check_shape(shape); !checked) return checked;
    const bool full = level == Level::target && has_residual();
    if (in.raw) {
      if (full)
        if (auto sized = check_payload(StreamId::residual, in.payload[1], 0); !sized) return sized;
      return decode_raw(in, shape, rows);
    }
    if (auto sound = format_.check(shape, in.payload[0], in.payload[1], full); !sound) return sound;
    auto residual = format_.whole_residual(shape, in.payload[0], in.payload[1], full, scratch());
    if (!residual) return residual.error();
    const std::byte* anchor = in.payload[0].data();
    if (full || residual.value() != nullptr)
      kernels::lynx_decode_full(anchor, residual.value(), format_.layout(shape), format_.coding(shape), rows);
    else
      kernels::lynx_decode_draft(anchor, format_.layout(shape), format_.coding(shape), rows);
    return {};
  }

 private:
  bool has_residual() const noexcept { return streams_.size() > 1; }

  std::string_view name_;
  std::span<const StreamSpec> streams_;
  LynxFormat format_;
};

}  // namespace

std::unique_ptr<Codec> make_lynx_int4(const CodecOptions& options) {
  return std::make_unique<Lynx>("lynx-int4", anchor_only, options);
}
std::unique_ptr<Codec> make_lynx_int8(const CodecOptions& options) {
  return std::make_unique<Lynx>("lynx-int8", blocking, options);
}
std::unique_ptr<Codec> make_lynx(const CodecOptions& options) {
  return std::make_unique<Lynx>("lynx", progressive, options);
}

}  // namespace lynxkv::codec
