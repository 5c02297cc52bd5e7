// Two bf16 values in one 32-bit word, the even channel low: as they lie in memory, and as the GPU's two-value
// instructions take them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "base/bf16.hpp"

namespace lynxkv::kernels::cuda {

__device__ inline __nv_bfloat162 as_pair(std::uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, sizeof pair);
  return pair;
}
__device__ inline std::uint32_t as_word(__nv_bfloat162 pair) {
  std::uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

// A NaN on either side gives a NaN, so that one look at the extremes of a page finds it.
__device__ inline std::uint32_t least_of(std::uint32_t a, std::uint32_t b) { return as_word(__hmin2_nan(as_pair(a), as_pair(b))); }
__device__ inline std::uint32_t largest_of(std::uint32_t a, std::uint32_t b) { return as_word(__hmax2_nan(as_pair(a), as_pair(b))); }

constexpr std::uint32_t pair_of_infinities = 0x7f807f80u;
constexpr std::uint32_t pair_of_minus_infinities = 0xff80ff80u;

__device__ inline Bf16 even_of(std::uint32_t word) { return Bf16{static_cast<std::uint16_t>(word & 0xffffu)}; }
__device__ inline Bf16 odd_of(std::uint32_t word) { return Bf16{static_cast<std::uint16_t>(word >> 16)}; }
__device__ inline float even_value(std::uint32_t word) { return __uint_as_float(word << 16); }
__device__ inline float odd_value(std::uint32_t word) { return __uint_as_float(word & 0xffff0000u); }
__device__ inline std::uint32_t pair_word(Bf16 even, Bf16 odd) {
  return static_cast<std::uint32_t>(even.bits) | static_cast<std::uint32_t>(odd.bits) << 16;
}

// to_bf16 of both: nearest, ties to even. Neither is a NaN.
__device__ inline std::uint32_t rounded_pair(float even, float odd) { return as_word(__floats2bfloat162_rn(even, odd)); }

}  // namespace lynxkv::kernels::cuda
