// Fields of GGUF blocks, and the readers of the super-blocks of 256 values ("K" types). Internal to dequant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/dequant.hpp"

namespace lynxkv::model {

inline int read_u8(const std::byte* at) noexcept {
  return std::to_integer<int>(*at);
}
inline int read_i8(const std::byte* at) noexcept {
  return static_cast<std::int8_t>(std::to_integer<int>(*at));
}
inline std::uint16_t read_u16(const std::byte* at) noexcept {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline std::uint32_t read_u32(const std::byte* at) noexcept {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline float read_half(const std::byte* at) noexcept {
  return half_to_float(read_u16(at));
}

// Each writes the 256 values of one super-block.
void q2_k(const std::byte* block, float* out) noexcept;
void q3_k(const std::byte* block, float* out) noexcept;
void q4_k(const std::byte* block, float* out) noexcept;
void q5_k(const std::byte* block, float* out) noexcept;
void q6_k(const std::byte* block, float* out) noexcept;

}  // namespace lynxkv::model
