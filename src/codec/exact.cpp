// `lynx-exact`: the streams of `lynx`, and a third one that restores every bit of the BF16 input. It drafts
// on the anchor; the truth is the exact level. The residual enables nothing new by itself: it is what the
// third stream builds on (kernels/exact.hpp has the format).
#include <algorithm>
#include <string>

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
      : lynx_(make_lynx(options)),  // which checks the options
        sinks_(options.sinks),
        coding_(kernels::make_lynx_coding(
            options.alpha, options.levels,
            options.centre == Centre::mid ? kernels::LynxCentre::mid : kernels::LynxCentre::mean,
            options.sigma == Sigma::log ? kernels::LynxSigma::log : kernels::LynxSigma::linear)),
        tables_(kernels::make_exact_tables(coding_.tables)) {}

  std::string_view name() const noexcept override { return "lynx-exact"; }
  std::span<const StreamSpec> streams() const noexcept override { return three_streams; }
  Level target() const noexcept override { return Level::exact; }

  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::exact) return lynx_->payload_bytes(stream, shape, raw);
    return raw ? 0 : kernels::exact_bound_bytes(layout(shape));
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    std::vector<std::byte> exact = std::move(out.payload[2]);  // keeps its memory: `lynx` clears it
    if (auto encoded = lynx_->encode(rows, shape, out); !encoded) return encoded;
    exact.clear();
    out.payload[2] = std::move(exact);
    if (out.raw) return {};
    kernels::exact_encode(rows, out.payload[0].data(), out.payload[1].data(), layout(shape), coding_, tables_,
                          workspace(), out.payload[2]);
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
    const kernels::LynxLayout placed = layout(shape);
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], placed.anchor_bytes()); !sized)
      return sized;
    if (auto sized = check_payload(StreamId::residual, in.payload[1], placed.nibble_bytes()); !sized)
      return sized;
    if (!kernels::lynx_scalars_are_finite(in.payload[0].data(), placed)) return bad_scalars();
    return kernels::exact_decode(in.payload[0].data(), in.payload[1].data(), in.payload[2], placed, coding_,
                                 tables_, workspace(), rows);
  }

 private:
  kernels::LynxLayout layout(const TensorShape& shape) const noexcept {
    const int sinks = shape.first_position == 0 ? std::min(sinks_, shape.tokens) : 0;
    return {shape.tokens, shape.channels, sinks, shape.chunk_tokens};
  }

  std::unique_ptr<Codec> lynx_;
  int sinks_;
  kernels::LynxCoding coding_;
  kernels::ExactTables tables_;
};

}  // namespace

std::unique_ptr<Codec> make_lynx_exact(const CodecOptions& options) {
  return std::make_unique<LynxExact>(options);
}

}  // namespace lynxkv::codec
