// The eight-bit float e4m3: a sign, four bits of exponent (bias 7), three of mantissa; no infinities; 0x7f
// and 0xff are NaN, so the largest value is 448.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace lynxkv::codec {

constexpr float largest_e4m3 = 448.0f;

// Rounds to nearest, ties to even; sizes past the range become 448. x is finite.
inline std::uint8_t to_e4m3(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80);
  const float size = std::fabs(x);
  if (size >= largest_e4m3) return sign | 0x7e;
  if (size < 0x1p-6f)
    return sign | static_cast<std::uint8_t>(std::nearbyint(size * 0x1p9f));  // steps of 2^-9
  bits &= 0x7fffffffu;
  bits += 0x7ffffu + (bits >> 20 & 1);  // keeps three bits of mantissa
  return sign | static_cast<std::uint8_t>((bits >> 20) - ((127 - 7) << 3));
}

inline float from_e4m3(std::uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (code & 0x80) != 0 ? -size : size;
}

inline bool is_e4m3_nan(std::uint8_t code) {
  return (code & 0x7f) == 0x7f;
}

}  // namespace lynxkv::codec
