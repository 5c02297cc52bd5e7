#include "codec/on_cuda.hpp"

#include <algorithm>
#include <string>

#include "codec/shape.hpp"
#include "kernels/cuda/codec_page.hpp"
#include "kernels/exact.hpp"

namespace lynxkv::codec {
namespace {

namespace cuda = kernels::cuda;

// Names, streams and sizes are those of the CPU's codec; so is what happens to a page that travels raw.
class OnCuda : public Codec {
 public:
  explicit OnCuda(std::unique_ptr<Codec> cpu) : cpu_(std::move(cpu)) {}

  std::string_view name() const noexcept override { return cpu_->name(); }
  std::span<const StreamSpec> streams() const noexcept override { return cpu_->streams(); }
  Level target() const noexcept override { return cpu_->target(); }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    return cpu_->payload_bytes(stream, shape, raw);
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    for (std::size_t i = 0; i < out.payload.size(); ++i) out.payload[i].resize(payload_bytes(StreamId(i), shape, false));
    const kernels::PageOutcome outcome = encode_page(rows, shape, out);
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) encode_raw(rows, shape, out);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    const auto all = streams();
    const auto enough = std::find_if(all.begin(), all.end(), [&](const StreamSpec& one) { return one.enables == level; });
    if (level == Level::none || enough == all.end()) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return cpu_->decode(level, in, shape, rows);
    for (auto stream = all.begin(); stream <= enough; ++stream) {
      if (stream->id == StreamId::exact) continue;  // of any size
      const auto sized = check_payload(stream->id, in.payload[static_cast<std::size_t>(stream->id)], payload_bytes(stream->id, shape, false));
      if (!sized) return sized;
    }
    return decode_page(enough->id, in, shape, rows);
  }

 private:
  // The payloads have their sizes, an exact one its largest.
  virtual kernels::PageOutcome encode_page(const Bf16* rows, const TensorShape& shape, Encoded& out) const = 0;
  // `last`: the stream up to which the payloads are wanted.
  virtual Result<void> decode_page(StreamId last, const Payloads& in, const TensorShape& shape, Bf16* rows) const = 0;

  std::unique_ptr<Codec> cpu_;
};

class LynxOnCuda final : public OnCuda {
 public:
  LynxOnCuda(std::unique_ptr<Codec> cpu, const CodecOptions& options)
      : OnCuda(std::move(cpu)),
        sinks_(options.sinks),
        coding_(kernels::make_lynx_coding(options.alpha, options.levels,
                                          options.centre == Centre::mid ? kernels::LynxCentre::mid : kernels::LynxCentre::mean,
                                          options.sigma == Sigma::log ? kernels::LynxSigma::log : kernels::LynxSigma::linear)) {}

 private:
  kernels::PageOutcome encode_page(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    const kernels::LynxLayout placed = layout(shape);
    std::byte* const residual = streams().size() > 1 ? out.payload[1].data() : nullptr;
    const kernels::PageOutcome outcome = cuda::lynx_encode_page(rows, placed, coding_, out.payload[0].data(), residual);
    if (outcome == kernels::PageOutcome::coded && streams().size() > 2)
      cuda::exact_encode_page(rows, out.payload[0].data(), residual, placed, coding_, out.payload[2]);
    return outcome;
  }

  Result<void> decode_page(StreamId last, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    const kernels::LynxLayout placed = layout(shape);
    const std::byte* const residual = last == StreamId::anchor ? nullptr : in.payload[1].data();
    if (last == StreamId::exact) return cuda::exact_decode_page(in.payload[0].data(), residual, in.payload[2], placed, coding_, rows);
    if (!cuda::lynx_decode_page(in.payload[0].data(), residual, placed, coding_, rows)) return bad_scalars();
    return {};
  }

  kernels::LynxLayout layout(const TensorShape& shape) const noexcept {
    return {shape.tokens, shape.channels, shape.first_position == 0 ? std::min(sinks_, shape.tokens) : 0, shape.chunk_tokens};
  }

  int sinks_;
  kernels::LynxCoding coding_;
};

class UniformOnCuda final : public OnCuda {
 public:
  UniformOnCuda(std::unique_ptr<Codec> cpu, int bits, bool per_channel) : OnCuda(std::move(cpu)), bits_(bits), per_channel_(per_channel) {}

 private:
  kernels::PageOutcome encode_page(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    return cuda::uniform_encode_page(rows, layout(shape), out.payload[0].data());
  }
  Result<void> decode_page(StreamId, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (!cuda::uniform_decode_page(in.payload[0].data(), layout(shape), rows)) return bad_scalars();
    return {};
  }
  kernels::UniformLayout layout(const TensorShape& shape) const noexcept {
    return {shape.tokens, shape.channels, shape.head_dim, bits_, per_channel_};
  }

  int bits_;
  bool per_channel_;
};

}  // namespace

std::unique_ptr<Codec> make_codec_on_cuda(std::string_view mode, const CodecOptions& options) {
  auto cpu = make_codec(mode, options);
  if (mode == "lynx" || mode == "lynx-int4" || mode == "lynx-int8" || mode == "lynx-exact")
    return std::make_unique<LynxOnCuda>(std::move(cpu), options);
  for (const int bits : {4, 8})
    for (const bool per_channel : {false, true})
      if (mode == "int" + std::to_string(bits) + (per_channel ? "-channel" : ""))
        return std::make_unique<UniformOnCuda>(std::move(cpu), bits, per_channel);
  return nullptr;
}

}  // namespace lynxkv::codec
