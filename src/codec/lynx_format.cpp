#include "codec/lynx_format.hpp"

#include <algorithm>
#include <string>

#include "codec/shape.hpp"

namespace lynxkv::codec {
namespace {

[[noreturn]] void refuse(const char* key, const std::string& text) { throw Error(ErrorCode::usage, key, text); }

void check_count(const char* key, int value, int most) {
  if (value < 0 || value > most)
    refuse(key, "expected 0 to " + std::to_string(most) + ", found " + std::to_string(value));
}
void check_channels(const char* key, int value) {
  check_count(key, value, most_channels);
  if (value % 2 != 0) refuse(key, "expected an even number, found " + std::to_string(value));
}

void check_options(const CodecOptions& options) {
  const auto alpha = [](const char* key, float value) {
    if (!(value >= 0.001f && value <= 1000.0f))
      refuse(key, "expected a number from 0.001 to 1000, found " + std::to_string(value));
  };
  alpha("alpha", options.alpha);
  if (options.alpha_v != 0) alpha("alpha_v", options.alpha_v);
  if (options.levels != 112 && options.levels != 120)
    refuse("levels", "expected 112 or 120, found " + std::to_string(options.levels));
  check_count("sinks", options.sinks, 255);
  check_count("chunk_tokens_v", options.chunk_tokens_v, most_page_tokens);
  check_channels("early_channels_k", options.early_channels_k);
  check_channels("early_channels_v", options.early_channels_v);
  check_count("early_tokens_k", options.early_tokens_k, 1 << 30);
  check_count("early_tokens_v", options.early_tokens_v, 1 << 30);
}

kernels::LynxCoding coding_of(const CodecOptions& options, float alpha) {
  return kernels::make_lynx_coding(
      alpha, options.levels, options.centre == Centre::mid ? kernels::LynxCentre::mid : kernels::LynxCentre::mean,
      options.sigma == Sigma::log ? kernels::LynxSigma::log : kernels::LynxSigma::linear,
      options.fit == Fit::extremes ? kernels::LynxFit::extremes : kernels::LynxFit::least_error);
}

const CodecOptions& checked(const CodecOptions& options) {
  check_options(options);
  return options;
}

// Scratch of the calling thread, kept between pages.
std::int16_t* workspace(std::size_t values) {
  thread_local std::vector<std::int16_t> memory;
  if (memory.size() < values) memory.resize(values);
  return memory.data();
}

}  // namespace

LynxFormat::LynxFormat(const CodecOptions& options) : options_(checked(options)), coding_(coding_of(options, options.alpha)) {
  if (options.alpha_v != 0 && options.alpha_v != options.alpha)
    coding_v_ = std::make_unique<kernels::LynxCoding>(coding_of(options, options.alpha_v));
}

kernels::LynxLayout LynxFormat::layout(const TensorShape& shape) const noexcept {
  const int sinks = shape.first_position == 0 ? std::min(options_.sinks, shape.tokens) : 0;
  const bool own_chunks = shape.kind == page::Kind::value && options_.chunk_tokens_v > 0;
  return {shape.tokens, shape.channels, sinks, own_chunks ? options_.chunk_tokens_v : shape.chunk_tokens};
}

kernels::PageOutcome LynxFormat::encode(const Bf16* rows, const TensorShape& shape, std::vector<std::byte>& anchor,
                                        std::vector<std::byte>* residual) const {
  const kernels::LynxLayout placed = layout(shape);
  anchor.resize(early(shape).anchor_bytes(placed));
  if (residual != nullptr) residual->resize(placed.nibble_bytes());
  return kernels::lynx_encode(rows, placed, coding(shape), anchor.data(), residual != nullptr ? residual->data() : nullptr,
                              workspace(placed.workspace()));
}

void LynxFormat::move_early(const TensorShape& shape, std::vector<std::byte>& anchor, std::vector<std::byte>& residual) const {
  codec::move_early(early(shape), layout(shape), coding(shape), anchor, residual);
}

Result<void> LynxFormat::check(const TensorShape& shape, std::span<const std::byte> anchor,
                               std::span<const std::byte> residual, bool full) const {
  if (auto sized = check_payload(StreamId::anchor, anchor, anchor_bytes(shape)); !sized) return sized;
  if (full)
    if (auto sized = check_payload(StreamId::residual, residual, residual_bytes(shape)); !sized) return sized;
  if (!kernels::lynx_scalars_are_finite(anchor.data(), layout(shape))) return bad_scalars();
  return {};
}

Result<const std::byte*> LynxFormat::whole_residual(const TensorShape& shape, std::span<const std::byte> anchor,
                                                    std::span<const std::byte> residual, bool full,
                                                    std::vector<std::byte>& memory) const {
  const EarlyPlan plan = early(shape);
  if (!plan.any()) return full ? residual.data() : nullptr;
  if (auto joined = join_early(plan, layout(shape), anchor, full ? residual : std::span<const std::byte>(), memory); !joined)
    return joined.error();
  return memory.data();
}

}  // namespace lynxkv::codec
