// bfloat16: the upper half of an IEEE float32. Storage type only; arithmetic is done in float.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

namespace lynxkv {

struct Bf16 {
  std::uint16_t bits;
  friend LYNXKV_HOST_DEVICE constexpr bool operator==(Bf16 a, Bf16 b) { return a.bits == b.bits; }
};
static_assert(sizeof(Bf16) == 2);

LYNXKV_HOST_DEVICE inline float to_float(Bf16 x) {
  const std::uint32_t wide = static_cast<std::uint32_t>(x.bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even. A NaN stays a NaN (quiet); values past the range become infinite.
LYNXKV_HOST_DEVICE inline Bf16 to_bf16(float x) {
  std::uint32_t wide;
  memcpy(&wide, &x, sizeof wide);
  if ((wide & 0x7fffffffu) > 0x7f800000u) return Bf16{static_cast<std::uint16_t>((wide >> 16) | 0x0040u)};
  return Bf16{static_cast<std::uint16_t>((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16)};
}

// Rounds toward +infinity. x is finite.
LYNXKV_HOST_DEVICE inline Bf16 to_bf16_up(float x) {
  std::uint32_t wide;
  memcpy(&wide, &x, sizeof wide);
  const bool cut = (wide & 0xffffu) != 0;
  const bool negative = (wide >> 31) != 0;
  return Bf16{static_cast<std::uint16_t>((wide >> 16) + ((cut && !negative) ? 1u : 0u))};
}

LYNXKV_HOST_DEVICE inline bool is_finite(Bf16 x) { return (x.bits & 0x7f80u) != 0x7f80u; }

}  // namespace lynxkv
