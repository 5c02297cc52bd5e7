// Super-blocks of 256 values: small integer scales for groups of 16 or 32 values under one or two halves.
#include <array>

#include "model/dequant_blocks.hpp"

namespace lynxkv::model {

// u8 scales[16] (low nibble scale, high nibble minimum), u8 q[64] (two bits a value), half d, half dmin.
// q: two halves of 128 values; in each, bits 2s..2s+1 of byte l are value 32 s + l, l = 0..31.
void q2_k(const std::byte* block, float* out) noexcept {
  const std::byte* scales = block;
  const std::byte* q = block + 16;
  const float d = read_half(block + 80), dmin = read_half(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = (i % 128) / 32 * 2, l = i % 32;
    const int scale = read_u8(scales + i / 16);
    const int value = (read_u8(q + half * 32 + l) >> shift) & 3;
    const float dl = d * static_cast<float>(scale & 15);
    const float ml = dmin * static_cast<float>(scale >> 4);
    out[i] = dl * static_cast<float>(value) - ml;
  }
}

// u8 high[32] (third bits), u8 q[64] (low two bits), u8 scales[12] (sixteen 6-bit scales), half d.
// Scale j: low nibble from byte j % 8 (its high half for j >= 8), upper two bits from byte 8 + j % 4.
void q3_k(const std::byte* block, float* out) noexcept {
  const std::byte* high = block;
  const std::byte* q = block + 32;
  const std::byte* packed = block + 96;
  const float d = read_half(block + 108);
  std::array<float, 16> scale;
  for (int j = 0; j < 16; ++j) {
    const int low = (read_u8(packed + j % 8) >> (j < 8 ? 0 : 4)) & 15;
    const int upper = (read_u8(packed + 8 + j % 4) >> (j / 4 * 2)) & 3;
    scale[static_cast<std::size_t>(j)] = d * static_cast<float>((low | upper << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, step = (i % 128) / 32, l = i % 32;
    const int low = (read_u8(q + half * 32 + l) >> (step * 2)) & 3;
    const bool third = ((read_u8(high + l) >> (half * 4 + step)) & 1) != 0;
    out[i] = scale[static_cast<std::size_t>(i / 16)] * static_cast<float>(low - (third ? 0 : 4));
  }
}

namespace {

// Eight 6-bit scales and eight 6-bit minima in 12 bytes: the first four of each lie whole in bytes 0-3 and
// 4-7; the others have their low nibbles in bytes 8-11 and their upper two bits atop bytes 0-7.
struct ScaleMin {
  int scale, minimum;
};
ScaleMin scale_min(const std::byte* packed, int j) noexcept {
  if (j < 4) return {read_u8(packed + j) & 63, read_u8(packed + j + 4) & 63};
  const int nibbles = read_u8(packed + j + 4);
  return {(nibbles & 15) | (read_u8(packed + j - 4) >> 6) << 4, (nibbles >> 4) | (read_u8(packed + j) >> 6)
                                                                                     << 4};
}

}  // namespace

// half d, half dmin, u8 packed[12], u8 q[128]: in each 32 bytes the low nibbles are group 2g, the high 2g
// + 1.
void q4_k(const std::byte* block, float* out) noexcept {
  const float d = read_half(block), dmin = read_half(block + 2);
  for (int group = 0; group < 8; ++group) {
    const auto [scale, minimum] = scale_min(block + 4, group);
    const float dl = d * static_cast<float>(scale), ml = dmin * static_cast<float>(minimum);
    const std::byte* q = block + 16 + group / 2 * 32;
    for (int l = 0; l < 32; ++l) {
      const int value = (read_u8(q + l) >> (group % 2 * 4)) & 15;
      out[group * 32 + l] = dl * static_cast<float>(value) - ml;
    }
  }
}

// half d, half dmin, u8 packed[12], u8 high[32] (bit g of byte l: fifth bit of value l of group g), u8
// q[128].
void q5_k(const std::byte* block, float* out) noexcept {
  const float d = read_half(block), dmin = read_half(block + 2);
  const std::byte* high = block + 16;
  for (int group = 0; group < 8; ++group) {
    const auto [scale, minimum] = scale_min(block + 4, group);
    const float dl = d * static_cast<float>(scale), ml = dmin * static_cast<float>(minimum);
    const std::byte* q = block + 48 + group / 2 * 32;
    for (int l = 0; l < 32; ++l) {
      const int low = (read_u8(q + l) >> (group % 2 * 4)) & 15;
      const int value = low | ((read_u8(high + l) >> group) & 1) << 4;
      out[group * 32 + l] = dl * static_cast<float>(value) - ml;
    }
  }
}

// u8 low[128], u8 high[64], i8 scales[16], half d. Per half of 128 values: group s = 0..3 of 32 takes the low
// nibbles of bytes 0-31 (s 0), 32-63 (s 1), their high nibbles (s 2, 3), and bits 2s..2s+1 of high.
void q6_k(const std::byte* block, float* out) noexcept {
  const float d = read_half(block + 208);
  const std::byte* scales = block + 192;
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, step = (i % 128) / 32, l = i % 32;
    const int low = (read_u8(block + half * 64 + step % 2 * 32 + l) >> (step / 2 * 4)) & 15;
    const int upper = (read_u8(block + 128 + half * 32 + l) >> (step * 2)) & 3;
    const float dl = d * static_cast<float>(read_i8(scales + i / 16));
    out[i] = dl * static_cast<float>((low | upper << 4) - 32);
  }
}

}  // namespace lynxkv::model
