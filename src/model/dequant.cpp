// Values of the block types with 32 values a block, and of the plain types.
#include "model/dequant.hpp"

#include <bit>
#include <cstring>

#include "base/bf16.hpp"
#include "base/check.hpp"
#include "model/dequant_blocks.hpp"

namespace lynxkv::model {

float half_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (mantissa << 13));
}

namespace {

// Block of 32: half d, then 16 bytes; byte j holds value j (low nibble) and value j + 16 (high nibble).
void q4_0(const std::byte* block, float* out) noexcept {
  const float d = read_half(block);
  for (int j = 0; j < 16; ++j) {
    const int byte = read_u8(block + 2 + j);
    out[j] = static_cast<float>((byte & 15) - 8) * d;
    out[j + 16] = static_cast<float>((byte >> 4) - 8) * d;
  }
}

// Half d, half m, 16 bytes of nibbles: value = q * d + m.
void q4_1(const std::byte* block, float* out) noexcept {
  const float d = read_half(block), m = read_half(block + 2);
  for (int j = 0; j < 16; ++j) {
    const int byte = read_u8(block + 4 + j);
    out[j] = static_cast<float>(byte & 15) * d + m;
    out[j + 16] = static_cast<float>(byte >> 4) * d + m;
  }
}

// The fifth bits of 32 values in one little-endian word, value j at bit j.
int fifth_bit(std::uint32_t high, int j) noexcept {
  return static_cast<int>((high >> j) & 1u) << 4;
}

// Half d, u32 of fifth bits, 16 bytes of nibbles: value = (q - 16) * d.
void q5_0(const std::byte* block, float* out) noexcept {
  const float d = read_half(block);
  const std::uint32_t high = read_u32(block + 2);
  for (int j = 0; j < 16; ++j) {
    const int byte = read_u8(block + 6 + j);
    out[j] = static_cast<float>(((byte & 15) | fifth_bit(high, j)) - 16) * d;
    out[j + 16] = static_cast<float>(((byte >> 4) | fifth_bit(high, j + 16)) - 16) * d;
  }
}

// Half d, half m, u32 of fifth bits, 16 bytes of nibbles: value = q * d + m.
void q5_1(const std::byte* block, float* out) noexcept {
  const float d = read_half(block), m = read_half(block + 2);
  const std::uint32_t high = read_u32(block + 4);
  for (int j = 0; j < 16; ++j) {
    const int byte = read_u8(block + 8 + j);
    out[j] = static_cast<float>((byte & 15) | fifth_bit(high, j)) * d + m;
    out[j + 16] = static_cast<float>((byte >> 4) | fifth_bit(high, j + 16)) * d + m;
  }
}

// Half d, 32 signed bytes.
void q8_0(const std::byte* block, float* out) noexcept {
  const float d = read_half(block);
  for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(read_i8(block + 2 + j)) * d;
}

using BlockFunction = void (*)(const std::byte*, float*) noexcept;

void each_block(BlockFunction function, const TensorTypeInfo& info, std::span<const std::byte> blocks,
                std::span<float> out) noexcept {
  const std::size_t count = out.size() / info.block_values;
  for (std::size_t b = 0; b < count; ++b)
    function(blocks.data() + b * info.block_bytes, out.data() + b * info.block_values);
}

}  // namespace

void dequantize(TensorType type, std::span<const std::byte> blocks, std::span<float> out) noexcept {
  const TensorTypeInfo& info = info_of(type);
  LYNXKV_CHECK(info.readable && out.size() % info.block_values == 0);
  LYNXKV_CHECK(blocks.size() == out.size() / info.block_values * info.block_bytes);
  if (out.empty()) return;
  switch (type) {
    case TensorType::f32:
      std::memcpy(out.data(), blocks.data(), blocks.size());
      return;
    case TensorType::f16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = read_half(blocks.data() + 2 * i);
      return;
    case TensorType::bf16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_float(Bf16{read_u16(blocks.data() + 2 * i)});
      return;
    case TensorType::q4_0:
      return each_block(q4_0, info, blocks, out);
    case TensorType::q4_1:
      return each_block(q4_1, info, blocks, out);
    case TensorType::q5_0:
      return each_block(q5_0, info, blocks, out);
    case TensorType::q5_1:
      return each_block(q5_1, info, blocks, out);
    case TensorType::q8_0:
      return each_block(q8_0, info, blocks, out);
    case TensorType::q2_k:
      return each_block(q2_k, info, blocks, out);
    case TensorType::q3_k:
      return each_block(q3_k, info, blocks, out);
    case TensorType::q4_k:
      return each_block(q4_k, info, blocks, out);
    case TensorType::q5_k:
      return each_block(q5_k, info, blocks, out);
    case TensorType::q6_k:
      return each_block(q6_k, info, blocks, out);
  }
}

}  // namespace lynxkv::model
