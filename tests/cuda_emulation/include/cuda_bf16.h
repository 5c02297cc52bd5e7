// The double of CUDA's <cuda_bf16.h>: pairs of bf16, as far as our kernels use them.
#pragma once

#include <cstdint>
#include <cstring>

struct __nv_bfloat16 { std::uint16_t bits; };
struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };  // x is the lower half

namespace cuda_emulation {

inline float wide(__nv_bfloat16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline __nv_bfloat16 narrow(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
// -0 counts as less than +0; a NaN wins and becomes the canonical one.
inline __nv_bfloat16 lesser(__nv_bfloat16 a, __nv_bfloat16 b, bool largest) {
  const float x = wide(a), y = wide(b);
  if (x != x || y != y) return {0x7fff};
  const bool a_is_less = x < y || (x == y && (a.bits & 0x8000u) != 0);
  return a_is_less != largest ? a : b;
}

}  // namespace cuda_emulation

inline __nv_bfloat162 __hmin2_nan(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {cuda_emulation::lesser(a.x, b.x, false), cuda_emulation::lesser(a.y, b.y, false)};
}
inline __nv_bfloat162 __hmax2_nan(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {cuda_emulation::lesser(a.x, b.x, true), cuda_emulation::lesser(a.y, b.y, true)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {cuda_emulation::narrow(low), cuda_emulation::narrow(high)};
}
