// `int8`, `int4` (a scale for each token and head) and `int8-channel`, `int4-channel` (for each channel of the
// page): one stream, no draft.
#include "codec/shape.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};

class Uniform final : public Codec {
 public:
  Uniform(std::string_view name, int bits, bool per_channel) : name_(name), bits_(bits), per_channel_(per_channel) {}

  std::string_view name() const noexcept override { return name_; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::anchor) return 0;
    return raw ? raw_bytes(shape) : layout(shape).payload_bytes();
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const kernels::UniformLayout placed = layout(shape);
    for (std::size_t i = 1; i < out.payload.size(); ++i) out.payload[i].clear();
    out.payload[0].resize(placed.payload_bytes());
    const kernels::PageOutcome outcome = kernels::uniform_encode(rows, placed, out.payload[0].data());
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) encode_raw(rows, shape, out);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::target) return no_such_level(name_, level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return decode_raw(in, shape, rows);
    const kernels::UniformLayout placed = layout(shape);
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], placed.payload_bytes()); !sized) return sized;
    if (!kernels::uniform_scalars_are_finite(in.payload[0].data(), placed)) return bad_scalars();
    kernels::uniform_decode(in.payload[0].data(), placed, rows);
    return {};
  }

 private:
  kernels::UniformLayout layout(const TensorShape& shape) const noexcept {
    return {shape.tokens, shape.channels, shape.head_dim, bits_, per_channel_};
  }

  std::string_view name_;
  int bits_;
  bool per_channel_;
};

}  // namespace

std::unique_ptr<Codec> make_int8(const CodecOptions&) { return std::make_unique<Uniform>("int8", 8, false); }
std::unique_ptr<Codec> make_int4(const CodecOptions&) { return std::make_unique<Uniform>("int4", 4, false); }
std::unique_ptr<Codec> make_int8_channel(const CodecOptions&) { return std::make_unique<Uniform>("int8-channel", 8, true); }
std::unique_ptr<Codec> make_int4_channel(const CodecOptions&) { return std::make_unique<Uniform>("int4-channel", 4, true); }

}  // namespace lynxkv::codec
