// `fp8`: e4m3 with a scale for each channel of the page: scale = max |x| / 448 rounded up to bf16, code =
// e4m3(x / scale), x' = bf16(code * scale). One stream, no draft; 8 + 16 / tokens bits an element.
//   payload: scale bf16[channels], codes u8[tokens][channels]
#include <array>
#include <cstring>

#include "codec/fp8_math.hpp"
#include "codec/shape.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};

std::array<float, 256> make_values() {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code)
    values[static_cast<std::size_t>(code)] = from_e4m3(static_cast<std::uint8_t>(code));
  return values;
}

std::size_t coded_bytes(const TensorShape& shape) noexcept {
  return (static_cast<std::size_t>(shape.tokens) + 2) * static_cast<std::size_t>(shape.channels);
}

std::vector<float> scales_of(const Bf16* rows, const TensorShape& shape) {
  std::vector<float> scales(static_cast<std::size_t>(shape.channels));
  for (int token = 0; token < shape.tokens; ++token, rows += shape.channels)
    for (std::size_t channel = 0; channel < scales.size(); ++channel) {
      const float size = std::fabs(to_float(rows[channel]));
      scales[channel] = size > scales[channel] ? size : scales[channel];
    }
  for (float& scale : scales) scale = to_float(to_bf16_up(scale / largest_e4m3));
  return scales;
}

class Fp8 final : public Codec {
 public:
  std::string_view name() const noexcept override { return "fp8"; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::anchor) return 0;
    return raw ? raw_bytes(shape) : coded_bytes(shape);
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const kernels::PageOutcome outcome = kernels::page_outcome(rows, raw_bytes(shape) / sizeof(Bf16));
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows, shape, out);
      return {};
    }
    for (std::size_t i = 1; i < out.payload.size(); ++i) out.payload[i].clear();
    out.payload[0].resize(coded_bytes(shape));
    const std::vector<float> scales = scales_of(rows, shape);
    std::byte* at = out.payload[0].data();
    for (const float scale : scales) {
      const Bf16 stored = to_bf16(scale);
      std::memcpy(at, &stored, sizeof stored);
      at += sizeof stored;
    }
    for (int token = 0; token < shape.tokens; ++token, rows += shape.channels)
      for (std::size_t channel = 0; channel < scales.size(); ++channel) {
        const float x = to_float(rows[channel]), scale = scales[channel];
        *at++ = static_cast<std::byte>(to_e4m3(scale > 0.0f ? x / scale : 0.0f));
      }
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    static const std::array<float, 256> values = make_values();
    if (level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return decode_raw(in, shape, rows);
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], coded_bytes(shape)); !sized) return sized;
    std::vector<Bf16> stored(static_cast<std::size_t>(shape.channels));
    std::memcpy(stored.data(), in.payload[0].data(), stored.size() * sizeof(Bf16));
    const auto codes = in.payload[0].subspan(stored.size() * sizeof(Bf16));
    std::uint32_t found = 0;
    for (const Bf16 scale : stored) found |= is_finite(scale) ? 0u : 1u;
    for (const std::byte code : codes) found |= is_e4m3_nan(static_cast<std::uint8_t>(code)) ? 1u : 0u;
    if (found != 0) return bad_scalars();
    std::vector<float> scales;
    for (const Bf16 scale : stored) scales.push_back(to_float(scale));
    const std::byte* code = codes.data();
    for (int token = 0; token < shape.tokens; ++token, rows += shape.channels)
      for (std::size_t channel = 0; channel < scales.size(); ++channel)
        rows[channel] = to_bf16(values[static_cast<std::uint8_t>(*code++)] * scales[channel]);
    return {};
  }
};

}  // namespace

std::unique_ptr<Codec> make_fp8(const CodecOptions&) {
  return std::make_unique<Fp8>();
}

}  // namespace lynxkv::codec
