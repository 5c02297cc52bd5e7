// Vector helpers of the page codec, compiled once per instruction set by Highway's foreach_target (so the guard
// below toggles). A vector of N 32-bit lanes holds N pairs of neighbouring channels, as rows store them: the even
// channel in the low half, the odd one in the high half. Arithmetic runs on the two halves as separate floats.
#if defined(LYNXKV_KERNELS_CPU_CODEC_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LYNXKV_KERNELS_CPU_CODEC_LANES_INL_HPP
#undef LYNXKV_KERNELS_CPU_CODEC_LANES_INL_HPP
#else
#define LYNXKV_KERNELS_CPU_CODEC_LANES_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "base/bf16.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::strips::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
using Words = hn::ScalableTag<std::uint32_t>;
using Signed = hn::RebindToSigned<Words>;
using Floats = hn::RebindToFloat<Words>;
using Halves = hn::Repartition<std::int16_t, Words>;  // 2N: the channels themselves
using Bytes = hn::Rebind<std::uint8_t, Words>;        // N bytes: one pair's nibbles or codes each
using Shorts = hn::Rebind<std::uint16_t, Words>;
using Word = hn::Vec<Words>;
using Float = hn::Vec<Floats>;
using Half = hn::Vec<Halves>;

HWY_INLINE Word load_pairs(const Bf16* row) {
  return hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(row));
}
HWY_INLINE Word load_pairs(const std::byte* at) {
  return hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(at));
}
HWY_INLINE void store_pairs(Word pairs, std::byte* at) {
  hn::StoreU(pairs, Words(), reinterpret_cast<std::uint32_t*>(at));
}
HWY_INLINE void store_pairs(Word pairs, Bf16* row) { hn::StoreU(pairs, Words(), reinterpret_cast<std::uint32_t*>(row)); }

// One byte a lane.
HWY_INLINE Word load_bytes(const std::byte* at) {
  return hn::PromoteTo(Words(), hn::LoadU(Bytes(), reinterpret_cast<const std::uint8_t*>(at)));
}
HWY_INLINE void store_bytes(Word bytes, std::byte* at) {
  hn::StoreU(hn::TruncateTo(Bytes(), bytes), Bytes(), reinterpret_cast<std::uint8_t*>(at));
}
// Two bytes a lane: the codes of an even and an odd channel.
HWY_INLINE Word load_byte_pairs(const std::byte* at) {
  return hn::PromoteTo(Words(), hn::LoadU(Shorts(), reinterpret_cast<const std::uint16_t*>(at)));
}
HWY_INLINE void store_byte_pairs(Word even, Word odd, std::byte* at) {
  hn::StoreU(hn::TruncateTo(Shorts(), hn::Or(even, hn::ShiftLeft<8>(odd))), Shorts(),
             reinterpret_cast<std::uint16_t*>(at));
}

HWY_INLINE Float even_values(Word pairs) { return hn::BitCast(Floats(), hn::ShiftLeft<16>(pairs)); }
HWY_INLINE Float odd_values(Word pairs) {
  return hn::BitCast(Floats(), hn::And(pairs, hn::Set(Words(), 0xffff0000u)));
}

// Rounds to bf16, ties to even, in the upper half of each lane; the lower half is rubble. No lane is a NaN.
HWY_INLINE Word rounded_bits(Float x) {
  const Word bits = hn::BitCast(Words(), x);
  const Word odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(Words(), 1));
  return hn::Add(hn::Add(bits, hn::Set(Words(), 0x7fff)), odd);
}
HWY_INLINE Word to_pairs(Float even, Float odd) {
  return hn::Or(hn::ShiftRight<16>(rounded_bits(even)), hn::And(rounded_bits(odd), hn::Set(Words(), 0xffff0000u)));
}

// bf16 bits as integers that order like the values (-0 below +0). The map is its own inverse.
HWY_INLINE Half ordered(Half bits) {
  return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(Halves(), 0x7fff)));
}

// Rounds toward +infinity to bf16, +0 for -0, in the upper half of each lane.
HWY_INLINE Word range_bits(Float range) {
  const Word bits = hn::BitCast(Words(), range);  // not negative, -0 apart
  const Word up = hn::Add(bits, hn::Set(Words(), 0xffff));
  return hn::And(up, hn::Set(Words(), 0x7fff0000u));
}

// +0 for -0 in either half.
HWY_INLINE Word without_negative_zeros(Word pairs) {
  const Half bits = hn::BitCast(Halves(), pairs);
  return hn::BitCast(Words(), hn::IfThenZeroElse(hn::Eq(bits, hn::Set(Halves(), -0x7fff - 1)), bits));
}

HWY_INLINE Float float_of(Word small) { return hn::ConvertTo(Floats(), hn::BitCast(Signed(), small)); }
HWY_INLINE Word floor_of(Float not_negative) {
  return hn::BitCast(Words(), hn::ConvertTo(Signed(), not_negative));
}
HWY_INLINE Float look_up(const float* table, Word index) {
  return hn::GatherIndex(Floats(), table, hn::BitCast(Signed(), index));
}
#endif

}  // namespace lynxkv::kernels::strips::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
