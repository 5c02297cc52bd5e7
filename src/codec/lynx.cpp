// The `lynx` family. All three modes write the same bytes; they differ in what a decoder does with them:
//   lynx-int4  the anchor alone, taken for the truth
//   lynx-int8  both streams, nothing usable before the second
//   lynx       drafts on the anchor, the truth with the residual
#include <algorithm>
#include <string>

#include "codec/shape.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec anchor_only[] = {{StreamId::anchor, Level::target}};
constexpr StreamSpec blocking[] = {{StreamId::anchor, Level::none}, {StreamId::residual, Level::target}};
constexpr StreamSpec progressive[] = {{StreamId::anchor, Level::draft}, {StreamId::residual, Level::target}};

void check_options(const CodecOptions& options) {
  const auto refuse = [](const char* key, const std::string& text) { throw Error(ErrorCode::usage, key, text); };
  if (!(options.alpha >= 0.001f && options.alpha <= 1000.0f))
    refuse("alpha", "expected a number from 0.001 to 1000, found " + std::to_string(options.alpha));
  if (options.levels != 112 && options.levels != 120)
    refuse("levels", "expected 112 or 120, found " + std::to_string(options.levels));
  if (options.sinks < 0 || options.sinks > 255)
    refuse("sinks", "expected 0 to 255, found " + std::to_string(options.sinks));
}

kernels::LynxCoding coding_of(const CodecOptions& options) {
  check_options(options);
  return kernels::make_lynx_coding(
      options.alpha, options.levels,
      options.centre == Centre::mid ? kernels::LynxCentre::mid : kernels::LynxCentre::mean,
      options.sigma == Sigma::log ? kernels::LynxSigma::log : kernels::LynxSigma::linear);
}

// Scratch of the calling thread, kept between pages.
std::int16_t* workspace(std::size_t values) {
  thread_local std::vector<std::int16_t> memory;
  if (memory.size() < values) memory.resize(values);
  return memory.data();
}

class Lynx final : public Codec {
 public:
  Lynx(std::string_view name, std::span<const StreamSpec> streams, const CodecOptions& options)
      : name_(name), streams_(streams), sinks_(options.sinks), coding_(coding_of(options)) {}

  std::string_view name() const noexcept override { return name_; }
  std::span<const StreamSpec> streams() const noexcept override { return streams_; }
  Level target() const noexcept override { return Level::target; }

  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (raw) return stream == StreamId::anchor ? raw_bytes(shape) : 0;
    if (stream == StreamId::anchor) return layout(shape).anchor_bytes();
    return stream == StreamId::residual && has_residual() ? layout(shape).nibble_bytes() : 0;
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const kernels::LynxLayout placed = layout(shape);
    out.payload[0].resize(placed.anchor_bytes());
    out.payload[1].resize(has_residual() ? placed.nibble_bytes() : 0);
    out.payload[2].clear();
    const kernels::PageOutcome outcome =
        kernels::lynx_encode(rows, placed, coding_, out.payload[0].data(),
                             has_residual() ? out.payload[1].data() : nullptr, workspace(placed.workspace()));
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) encode_raw(rows, shape, out);
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
    const kernels::LynxLayout placed = layout(shape);
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], placed.anchor_bytes()); !sized) return sized;
    if (full)
      if (auto sized = check_payload(StreamId::residual, in.payload[1], placed.nibble_bytes()); !sized) return sized;
    const std::byte* anchor = in.payload[0].data();
    if (!kernels::lynx_scalars_are_finite(anchor, placed)) return bad_scalars();
    if (full)
      kernels::lynx_decode_full(anchor, in.payload[1].data(), placed, coding_, rows);
    else
      kernels::lynx_decode_draft(anchor, placed, coding_, rows);
    return {};
  }

 private:
  bool has_residual() const noexcept { return streams_.size() > 1; }
  kernels::LynxLayout layout(const TensorShape& shape) const noexcept {
    const int sinks = shape.first_position == 0 ? std::min(sinks_, shape.tokens) : 0;
    return {shape.tokens, shape.channels, sinks, shape.chunk_tokens};
  }

  std::string_view name_;
  std::span<const StreamSpec> streams_;
  int sinks_;
  kernels::LynxCoding coding_;
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
