// The arithmetic of the exact stream, one value at a time, for host and device. The `lynx` codes of a value
// say in which cell of the quantiser it lay; a cell holds a run of neighbouring bf16 values, and the stream
// says which of them it was. Float32 in the order written, no contraction: encoder and decoder have to see
// the same cells.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bf16.hpp"
#include "base/host_device.hpp"

namespace lynxkv::kernels {

// bf16 bits as integers that order like the values, -0 (-1) next to +0 (0). The map is its own inverse.
LYNXKV_HOST_DEVICE inline int exact_ordinal(Bf16 x) {
  const auto bits = static_cast<std::int16_t>(x.bits);
  return bits ^ ((bits >> 15) & 0x7fff);
}
LYNXKV_HOST_DEVICE inline Bf16 exact_value(int ordinal) {
  const auto bits = static_cast<std::int16_t>(ordinal);
  return Bf16{static_cast<std::uint16_t>(bits ^ ((bits >> 15) & 0x7fff))};
}
constexpr int exact_least_ordinal = -0x7f80;  // of finite values
constexpr int exact_largest_ordinal = 0x7f7f;

// The bf16 values of one cell: `count` ordinals from `first` on.
struct ExactCell {
  int first;
  int count;  // 1 .. 65280
};

// The same map of float32 bits.
LYNXKV_HOST_DEVICE inline std::int32_t exact_ordinal32(float x) {
  std::int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

LYNXKV_HOST_DEVICE inline float exact_bound(float signed_threshold, float sg, float mu, float gscale,
                                            float gmin) {
  const float d = signed_threshold * sg;
  const float xn = d + mu;
  const float x = xn * gscale;
  return x + gmin;
}

// `inner`, `outer`: the cell's ends as values, in either order. The cell's members are the bf16 values
// between them. Where rounding leaves none, the neighbours on both sides are taken: the value was one of
// them.
LYNXKV_HOST_DEVICE inline ExactCell exact_cell(float inner, float outer) {
  const std::int32_t a = exact_ordinal32(inner), b = exact_ordinal32(outer);
  const std::int32_t low = a < b ? a : b, high = a < b ? b : a;
  const int up = (low < 0 ? low : low + 0xffff) >> 16;       // the least bf16 that is not below
  const int down = (high < 0 ? high - 0xffff : high) >> 16;  // the largest one that is not above
  int first = up < down ? up : down, last = up < down ? down : up;
  first = first == 0 ? -1 : first;  // a cell that ends at a zero holds both
  last = last == -1 ? 0 : last;
  first = first < exact_least_ordinal     ? exact_least_ordinal
          : first > exact_largest_ordinal ? exact_largest_ordinal
                                          : first;
  last = last < exact_least_ordinal     ? exact_least_ordinal
         : last > exact_largest_ordinal ? exact_largest_ordinal
                                        : last;
  return {first, last - first + 1};
}

// The ends of the cell that both nibbles (anchor's high) name, as signed thresholds.
struct ExactEnds {
  float inner, outer;
};
LYNXKV_HOST_DEVICE inline ExactEnds exact_ends(int nibbles, const float* threshold, int levels) {
  const int code = nibbles >> 4, r = (nibbles & 15) < 8 ? nibbles & 15 : (nibbles & 15) - 16;
  const int m = 16 * (code < 8 ? code : 15 - code) - r;
  const int held = m < 0 ? 0 : m > levels ? levels : m;  // pairs that no encoder writes stay inside the table
  const float inner = threshold[held], outer = held < levels ? threshold[held + 1] : 1.0f;
  return {code < 8 ? inner : -inner, code < 8 ? outer : -outer};
}

// The entropy coder: a range asymmetric numeral system whose models need no tables. The members of a cell are
// taken as equally likely, so each gets the same whole number of slots; what is left over stands for "none of
// them".
constexpr int exact_slot_bits = 14;
constexpr std::uint32_t exact_slots = 1u << exact_slot_bits;
constexpr std::uint32_t exact_state_floor =
    1u << 16;  // states are in [2^16, 2^32); the coder moves 16 bits at a time
constexpr int exact_widest_cell =
    256;  // wider cells surround zero, where ordinals crowd: their values travel as bits

// Slots of one member, 63 or more; exact_slots - count * share, 1 or more, mean "none".
LYNXKV_HOST_DEVICE inline std::uint32_t exact_share(int count) {
  return (exact_slots - 1) / static_cast<std::uint32_t>(count);
}

// Divides slots: (slot * reciprocal) >> 32 is slot / share for every slot below 2^14.
LYNXKV_HOST_DEVICE constexpr std::uint32_t exact_share_reciprocal(std::uint32_t share) {
  return ~std::uint32_t{0} / share + 1;
}

// After the symbol "none of the cell's members", before the refill.
LYNXKV_HOST_DEVICE inline std::uint32_t exact_state_after_none(std::uint32_t state, std::uint32_t count,
                                                               std::uint32_t share) {
  const std::uint32_t start = count * share;
  return (exact_slots - start) * (state >> exact_slot_bits) + (state & (exact_slots - 1)) - start;
}

}  // namespace lynxkv::kernels
