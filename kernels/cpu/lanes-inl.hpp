// Loads and stores of bf16 as float lanes, for the Highway kernels. Included once for each target.
#include <hwy/highway.h>

#include "base/bf16.hpp"

#if defined(LYNXKV_KERNELS_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LYNXKV_KERNELS_LANES_INL_HPP
#undef LYNXKV_KERNELS_LANES_INL_HPP
#else
#define LYNXKV_KERNELS_LANES_INL_HPP
#endif

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const Bf16* from) {
  const hn::Rebind<std::uint32_t, D> d32;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}

// Rounds to nearest, ties to even; a NaN stays one.
template <class D>
HWY_INLINE void store(D, hn::Vec<D> value, Bf16* to) {
  const hn::Rebind<std::uint32_t, D> d32;
  const hn::Rebind<std::int32_t, D> d32s;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto wide = hn::BitCast(d32, value);
  const auto odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(d32, 1u));
  const auto rounded = hn::Add(wide, hn::Add(odd, hn::Set(d32, 0x7fffu)));
  const auto quiet = hn::Or(wide, hn::Set(d32, 0x00400000u));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(value));
  const auto upper = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(d32s, upper)), d16, reinterpret_cast<std::uint16_t*>(to));
}

// Runs body(d, first) over [0, count): whole vectors first, then single lanes, with the same operations.
template <class Body>
HWY_INLINE void for_lanes(int count, Body&& body) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= count; i += lanes) body(d, i);
  for (; i < count; ++i) body(one, i);
}

}  // namespace lynxkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
