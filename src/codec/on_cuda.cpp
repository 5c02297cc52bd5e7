#include "codec/on_cuda.hpp"

#include <algorithm>
#include <string>

#include "codec/lynx_format.hpp"
#include "codec/shape.hpp"
#include "kernels/cuda/codec_page.hpp"

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
    for (auto& payload : out.payload) payload.clear();
    const kernels::PageOutcome outcome = encode_page(rows, shape, out);
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) encode_raw(rows, shape, out);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    const auto all = streams();
    const auto enough =
        std::find_if(all.begin(), all.end(), [&](const StreamSpec& one) { return one.enables == level; });
    if (level == Level::none || enough == all.end()) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return cpu_->decode(level, in, shape, rows);
    return decode_page(enough->id, in, shape, rows);
  }

 private:
  // The payloads are empty. Where the outcome is not `coded`, it does not matter what becomes of them.
  virtual kernels::PageOutcome encode_page(const Bf16* rows, const TensorShape& shape,
                                           Encoded& out) const = 0;
  // Nothing is known of the payloads. `last`: the stream up to which they are wanted.
  virtual Result<void> decode_page(StreamId last, const Payloads& in, const TensorShape& shape,
                                   Bf16* rows) const = 0;

  std::unique_ptr<Codec> cpu_;
};

class LynxOnCuda final : public OnCuda {
 public:
  LynxOnCuda(std::unique_ptr<Codec> cpu, const CodecOptions& options)
      : OnCuda(std::move(cpu)), format_(options) {}

 private:
  kernels::PageOutcome encode_page(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    const kernels::LynxLayout placed = format_.layout(shape);
    const kernels::LynxCoding& coding = format_.coding(shape);
    const cuda::EarlyShape early = early_of(shape);
    const bool moves = early.pairs > 0 || early.rows > 0, wanted = streams().size() > 1;
    std::vector<std::byte> whole(wanted || moves ? placed.nibble_bytes() : 0), left(early.residual_bytes);
    out.payload[0].resize(early.anchor_bytes);
    const kernels::PageOutcome outcome = cuda::lynx_encode_page(rows, placed, coding, out.payload[0].data(),
                                                                wanted || moves ? whole.data() : nullptr);
    if (outcome != kernels::PageOutcome::coded) return outcome;
    if (streams().size() > 2)
      cuda::exact_encode_page(rows, out.payload[0].data(), whole.data(), placed, coding, out.payload[2]);
    if (moves) cuda::move_early_page(placed, coding, early, out.payload[0].data(), whole.data(), left.data());
    if (wanted) out.payload[1] = moves ? std::move(left) : std::move(whole);
    return outcome;
  }

  Result<void> decode_page(StreamId last, const Payloads& in, const TensorShape& shape,
                           Bf16* rows) const override {
    const bool full = last != StreamId::anchor;
    const kernels::LynxLayout placed = format_.layout(shape);
    if (auto sound = format_.check(shape, in.payload[0], in.payload[1], full); !sound) return sound;
    const cuda::EarlyShape early = early_of(shape);
    const std::byte* const anchor = in.payload[0].data();
    const std::byte* const residual = full ? in.payload[1].data() : nullptr;
    if (last == StreamId::exact)
      return cuda::exact_decode_page(anchor, residual, in.payload[2], placed, format_.coding(shape), rows,
                                     early);
    if (!cuda::lynx_decode_page(anchor, residual, placed, format_.coding(shape), rows,
                                early))  // its scalars are finite
      return Error(ErrorCode::bad_data, "anchor payload",
                   "its early residuals are not those that these settings ask for: the payload is damaged");
    return {};
  }

  cuda::EarlyShape early_of(const TensorShape& shape) const {
    const EarlyPlan plan = format_.early(shape);
    return {plan.pairs, plan.rows, format_.anchor_bytes(shape), format_.residual_bytes(shape)};
  }

  LynxFormat format_;
};

class UniformOnCuda final : public OnCuda {
 public:
  UniformOnCuda(std::unique_ptr<Codec> cpu, int bits, bool per_channel)
      : OnCuda(std::move(cpu)), bits_(bits), per_channel_(per_channel) {}

 private:
  kernels::PageOutcome encode_page(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    out.payload[0].resize(layout(shape).payload_bytes());
    return cuda::uniform_encode_page(rows, layout(shape), out.payload[0].data());
  }
  Result<void> decode_page(StreamId, const Payloads& in, const TensorShape& shape,
                           Bf16* rows) const override {
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], layout(shape).payload_bytes()); !sized)
      return sized;
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
