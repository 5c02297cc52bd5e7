// The exact stream's coder, eight (or four) lanes in a vector, for each instruction set. Quotients come from
// float divisions that cannot miss: a slot or 16383 over a share is further from the next whole number than a
// rounding.
#include "kernels/cpu/exact_segment.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_steps.cpp"
#include <hwy/foreach_target.h>
// After foreach_target: the operations of each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::exact::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE  // the plain form does it all
std::size_t DecodeSteps(const Cells&, Reader&, std::uint32_t*, std::uint16_t*) {
  return 0;
}
std::size_t EncodeSteps(const Cells&, std::size_t, const std::uint16_t*, std::uint32_t*, Writer&) {
  return 0;
}
#else

using Signed = hn::CappedTag<std::int32_t, 8>;
using Words = hn::RebindToUnsigned<Signed>;
using Floats = hn::RebindToFloat<Signed>;
using Shorts = hn::Rebind<std::uint16_t, Words>;
using SignedShorts = hn::Rebind<std::int16_t, Words>;
using Bytes = hn::Rebind<std::uint8_t, Words>;
using Integer = hn::Vec<Signed>;
using Mask = hn::Mask<Signed>;

// For each set of lanes, where in a run of words each lane finds its own: `taking`, for lanes that read the
// run in order; `packing`, for a run at the vector's end that collects the lanes' words in order (N lanes).
struct Orders {
  std::uint8_t taking[256][8], packing[256][8];
};
constexpr Orders make_orders(int lanes) {
  Orders orders{};
  for (int set = 0; set < 256; ++set) {
    int seen = 0, members = 0;
    for (int lane = 0; lane < lanes; ++lane) members += set >> lane & 1;
    for (int lane = 0; lane < lanes; ++lane) {
      orders.taking[set][lane] = static_cast<std::uint8_t>(seen);
      if ((set >> lane & 1) == 0) continue;
      orders.packing[set][lanes - members + seen] = static_cast<std::uint8_t>(lane);
      ++seen;
    }
  }
  return orders;
}
constexpr int lanes = HWY_MAX_BYTES >= 32 ? 8 : 4;
constexpr Orders orders = make_orders(lanes);

HWY_INLINE Integer whole(hn::Vec<Floats> x) {
  return hn::ConvertTo(Signed(), x);
}
HWY_INLINE hn::Vec<Floats> real(Integer x) {
  return hn::ConvertTo(Floats(), x);
}
HWY_INLINE Integer load_shorts(const std::uint16_t* at) {
  return hn::BitCast(Signed(), hn::PromoteTo(Words(), hn::LoadU(Shorts(), at)));
}
HWY_INLINE Integer load_shorts(const std::int16_t* at) {
  return hn::PromoteTo(Signed(), hn::LoadU(SignedShorts(), at));
}
HWY_INLINE void store_shorts(Integer x, std::uint16_t* at) {
  hn::StoreU(hn::TruncateTo(Shorts(), hn::BitCast(Words(), x)), Shorts(), at);
}
HWY_INLINE Integer load_states(const std::uint32_t* at) {
  return hn::BitCast(Signed(), hn::LoadU(Words(), at));
}
HWY_INLINE void store_states(Integer x, std::uint32_t* at) {
  hn::StoreU(hn::BitCast(Words(), x), Words(), at);
}
HWY_INLINE unsigned bits_of(Mask mask) {
  std::uint8_t bits = 0;
  hn::StoreMaskBits(Signed(), mask, &bits);
  return bits;
}
HWY_INLINE Integer reorder(Integer x, const std::uint8_t* order) {
  const auto indices = hn::BitCast(Signed(), hn::PromoteTo(Words(), hn::LoadU(Bytes(), order)));
  return hn::TableLookupLanes(x, hn::IndicesFromVec(Signed(), indices));
}
template <int bits>
HWY_INLINE Integer shift_down(Integer x) {  // as unsigned
  return hn::BitCast(Signed(), hn::ShiftRight<bits>(hn::BitCast(Words(), x)));
}
// exact_share(); rubble where the cell is wider than codes go.
HWY_INLINE Integer share_of(Integer count) {
  return whole(hn::Div(hn::Set(Floats(), static_cast<float>(exact_slots - 1)), real(count)));
}
// Ordinals from bits or bits from ordinals, sign-extended.
HWY_INLINE Integer ordered(Integer x) {
  return hn::Xor(x, hn::And(hn::BroadcastSignBit(x), hn::Set(Signed(), 0x7fff)));
}

// One vector of lanes from `i` on.
HWY_INLINE void decode_lanes(const Cells& cells, std::size_t i, Reader& in, std::uint32_t* state,
                             std::uint16_t* values) {
  const Signed d;
  const Integer before = load_states(state), count = load_shorts(cells.count + i), share = share_of(count);
  const Integer slot = hn::And(before, hn::Set(d, static_cast<int>(exact_slots - 1)));
  const Integer member = whole(hn::Div(real(slot), real(share)));
  const Integer inside = hn::Sub(slot, hn::Mul(member, share));
  Integer next = hn::Add(hn::Mul(share, shift_down<exact_slot_bits>(before)), inside);
  store_shorts(ordered(hn::Add(load_shorts(cells.first + i), member)), values + i);

  const Mask wide = hn::Gt(count, hn::Set(d, exact_widest_cell));
  const Mask rare = hn::Or(wide, hn::Not(hn::Lt(member, count)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, rare))) {
    std::uint32_t states[8];
    store_states(hn::IfThenElse(rare, before, next), states);
    const unsigned wide_lanes = bits_of(wide);
    for (unsigned left = bits_of(rare); left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(left));
      if ((wide_lanes >> lane & 1) == 0) states[lane] = state_after_none(states[lane], cells.count[i + lane]);
      values[i + lane] = in.next_extra();
    }
    next = load_states(states);
  }
  const Mask refills = hn::Eq(shift_down<16>(next), hn::Zero(d));
  const unsigned set = bits_of(refills);
  const Integer words = load_shorts(reinterpret_cast<const std::uint16_t*>(in.words.data()) + in.word);
  const Integer refilled = hn::Or(hn::ShiftLeft<16>(next), reorder(words, orders.taking[set]));
  store_states(hn::IfThenElse(refills, refilled, next), state);
  in.word += static_cast<std::size_t>(__builtin_popcount(set));
}

std::size_t DecodeSteps(const Cells& cells, Reader& in, std::uint32_t* state, std::uint16_t* values) {
  Reader local = in;  // its members in registers
  const std::size_t words = in.words.size() / 2;
  std::size_t i = 0;
  for (; i + exact_lanes <= cells.values && local.word + exact_lanes + lanes <= words; i += exact_lanes)
    for (std::size_t lane = 0; lane < exact_lanes; lane += lanes)
      decode_lanes(cells, i + lane, local, state + lane, values);
  in = local;
  return i;
}

HWY_INLINE void encode_lanes(const Cells& cells, std::size_t i, const std::uint16_t* bits,
                             std::uint32_t* state, Writer& out) {
  const Signed d;
  const Integer before = load_states(state), count = load_shorts(cells.count + i), share = share_of(count);
  const Integer member = hn::Sub(ordered(load_shorts(reinterpret_cast<const std::int16_t*>(bits) + i)),
                                 load_shorts(cells.first + i));
  const Mask wide = hn::Gt(count, hn::Set(d, exact_widest_cell));
  const Mask outside = hn::Or(hn::Lt(member, hn::Zero(d)), hn::Not(hn::Lt(member, count)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::AndNot(wide, outside)))) {
    for (int lane = lanes - 1; lane >= 0; --lane)
      encode_value(state[lane], cells.first[i + lane], cells.count[i + lane], bits[i + lane], out);
    return;
  }
  const Mask full = hn::AndNot(wide, hn::Not(hn::Lt(shift_down<18>(before), share)));
  const Integer rest = hn::IfThenElse(full, shift_down<16>(before), before);
  // rest / share is below 2^18, so the guess is off by one at most.
  const auto guess = hn::Div(real(shift_down<2>(rest)), hn::Mul(real(share), hn::Set(Floats(), 0.25f)));
  Integer quotient = whole(guess), left = hn::Sub(rest, hn::Mul(quotient, share));
  const Integer below = hn::BroadcastSignBit(left);  // -1 where the guess was too large
  quotient = hn::Add(quotient, below);
  left = hn::Add(left, hn::And(below, share));
  const Mask above = hn::Not(hn::Lt(left, share));
  quotient = hn::IfThenElse(above, hn::Add(quotient, hn::Set(d, 1)), quotient);
  left = hn::IfThenElse(above, hn::Sub(left, share), left);
  const Integer coded =
      hn::Add(hn::Add(hn::ShiftLeft<exact_slot_bits>(quotient), left), hn::Mul(member, share));
  store_states(hn::IfThenElse(wide, before, coded), state);

  // At least `lanes` words are free below: each value that is left makes one at most.
  const unsigned set = bits_of(full);
  store_shorts(reorder(before, orders.packing[set]), out.word - lanes);
  out.word -= __builtin_popcount(set);
  for (unsigned rest_of = bits_of(wide); HWY_UNLIKELY(rest_of != 0);) {
    const unsigned lane = 31u - static_cast<unsigned>(__builtin_clz(rest_of));
    *--out.extra = bits[i + lane];
    rest_of ^= 1u << lane;
  }
}

std::size_t EncodeSteps(const Cells& cells, std::size_t values, const std::uint16_t* bits,
                        std::uint32_t* state, Writer& out) {
  for (std::size_t i = values; i != 0; i -= exact_lanes)
    for (std::size_t lane = exact_lanes; lane != 0; lane -= lanes)
      encode_lanes(cells, i - exact_lanes + lane - lanes, bits, state + lane - lanes, out);
  return values;
}
#endif

}  // namespace lynxkv::kernels::exact::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels::exact {

HWY_EXPORT(DecodeSteps);
HWY_EXPORT(EncodeSteps);
std::size_t decode_steps(const Cells& cells, Reader& in, std::uint32_t* state, std::uint16_t* values) {
  return HWY_DYNAMIC_DISPATCH(DecodeSteps)(cells, in, state, values);
}
std::size_t encode_steps(const Cells& cells, std::size_t values, const std::uint16_t* bits,
                         std::uint32_t* state, Writer& out) {
  return HWY_DYNAMIC_DISPATCH(EncodeSteps)(cells, values, bits, state, out);
}

}  // namespace lynxkv::kernels::exact
#endif
