// Cells of the exact stream: the plain form, and one strip of channels for each instruction set.
#include "kernels/cpu/exact_cells.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_cells.cpp"
#include <hwy/foreach_target.h>
// After foreach_target: the helpers of each instruction set.
#include <hwy/highway.h>

#include "kernels/cpu/codec_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::strips::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors at all: pages go to the plain form, this is never called
void StripCells(const CellsPage&, int) {}
#else

using Integer = hn::Vec<Signed>;

struct HalfScale {
  Float gmin, gscale, mu, sg;
};

HWY_INLINE void set_scalars(HalfScale& half, Word mu8, Word sg8, const float* scalar) {
  half.mu = hn::Div(float_of(mu8), hn::Set(Floats(), 255.0f));
  half.sg = look_up(scalar, sg8);
}

// exact_ordinal32(exact_bound()): each operation rounds, nothing here may be fused.
HWY_INLINE Integer ordinal_of_bound(Float threshold, const HalfScale& half) {
  const Float xn = hn::Add(hn::Mul(threshold, half.sg), half.mu);
  const Float x = hn::Add(hn::Mul(xn, half.gscale), half.gmin);
  const Integer bits = hn::BitCast(Signed(), x);
  return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(Signed(), 0x7fffffff)));
}

struct CellLanes {
  Integer first, count;
};

// exact_cell().
HWY_INLINE CellLanes cell_of(Float inner, Float outer, const HalfScale& half) {
  const Signed d;
  const Integer a = ordinal_of_bound(inner, half), b = ordinal_of_bound(outer, half);
  const Integer low = hn::Min(a, b), high = hn::Max(a, b), below_one = hn::Set(d, 0xffff);
  const Integer up = hn::ShiftRight<16>(hn::Add(low, hn::AndNot(hn::BroadcastSignBit(low), below_one)));
  const Integer down = hn::ShiftRight<16>(hn::Sub(high, hn::And(hn::BroadcastSignBit(high), below_one)));
  Integer first = hn::Min(up, down), last = hn::Max(up, down);
  first = hn::Sub(first, hn::And(hn::VecFromMask(d, hn::Eq(first, hn::Zero(d))), hn::Set(d, 1)));
  last = hn::IfThenZeroElse(hn::Eq(last, hn::Set(d, -1)), last);
  const Integer least = hn::Set(d, exact_least_ordinal), largest = hn::Set(d, exact_largest_ordinal);
  first = hn::Min(hn::Max(first, least), largest);
  last = hn::Min(hn::Max(last, least), largest);
  return {first, hn::Add(hn::Sub(last, first), hn::Set(d, 1))};
}

HWY_INLINE Word pairs_of(Integer even, Integer odd) {
  const Word low = hn::And(hn::BitCast(Words(), even), hn::Set(Words(), 0xffff));
  return hn::Or(low, hn::ShiftLeft<16>(hn::BitCast(Words(), odd)));
}

// Signed thresholds of both nibbles, for the even and the odd channels at once.
struct Pair {
  Float even, odd;
};

#if HWY_TARGET == HWY_AVX3
// A table's entries for clear signs in registers, cut into 16-bit halves: one permutation looks up 64 entries
// for both channels of all pairs, where a gather takes a load for each of them (as full decode does).
struct Table {
  __m512i upper[4], lower[4];

  HWY_INLINE explicit Table(const float* table) {
    for (int i = 0; i < 4; ++i) {
      const __m512i a = _mm512_loadu_si512(table + 32 * i), b = _mm512_loadu_si512(table + 32 * i + 16);
      lower[i] =
          _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)), _mm512_cvtepi32_epi16(b), 1);
      upper[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_srli_epi32(a, 16))),
                                    _mm512_cvtepi32_epi16(_mm512_srli_epi32(b, 16)), 1);
    }
  }
  static HWY_INLINE __m512i pick(const __m512i* table, __m512i index, __mmask32 second) {
    const __m512i first = _mm512_permutex2var_epi16(table[0], index, table[1]);
    return _mm512_mask_blend_epi16(second, first, _mm512_permutex2var_epi16(table[2], index, table[3]));
  }
  HWY_INLINE Pair at(__m512i index, __mmask32 second, __m512i sign) const {
    const __m512i high = _mm512_or_si512(pick(upper, index, second), sign), low = pick(lower, index, second);
    const __m512i left = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const __m512i even = _mm512_or_si512(_mm512_slli_epi32(high, 16), _mm512_andnot_si512(left, low));
    const __m512i odd = _mm512_or_si512(_mm512_and_si512(left, high), _mm512_srli_epi32(low, 16));
    return {hn::BitCast(Floats(), Word{even}), hn::BitCast(Floats(), Word{odd})};
  }
};
struct Ends {
  Table inner, outer;
  HWY_INLINE explicit Ends(const ExactTables& tables) : inner(tables.inner), outer(tables.outer) {}
  // The low nibble to the lower half of a lane, the high one to the upper half.
  static HWY_INLINE __m512i spread(Word bytes) {
    return _mm512_and_si512(_mm512_or_si512(bytes.raw, _mm512_slli_epi32(bytes.raw, 12)),
                            _mm512_set1_epi16(15));
  }
  HWY_INLINE void operator()(Word codes, Word rest, Pair& in, Pair& out) const {
    const __m512i anchor = spread(codes);
    const __m512i flip = _mm512_srai_epi16(_mm512_slli_epi16(anchor, 12), 15);
    const __m512i a = _mm512_xor_si512(anchor, flip);  // above bit 3 rubble, which no permutation looks at
    const __m512i index = _mm512_or_si512(_mm512_slli_epi16(a, 4), spread(rest));
    const __mmask32 second = _mm512_test_epi16_mask(index, _mm512_set1_epi16(64));
    const __m512i sign = _mm512_and_si512(flip, _mm512_set1_epi16(-0x7fff - 1));
    in = inner.at(index, second, sign);
    out = outer.at(index, second, sign);
  }
};
#else
struct Ends {
  const ExactTables& tables;
  HWY_INLINE explicit Ends(const ExactTables& all) : tables(all) {}
  HWY_INLINE void operator()(Word codes, Word rest, Pair& in, Pair& out) const {
    const Word low_half = hn::Set(Words(), 15), high_half = hn::Set(Words(), 0xf0);
    const Word even = hn::Or(hn::ShiftLeft<4>(hn::And(codes, low_half)), hn::And(rest, low_half));
    const Word odd = hn::Or(hn::And(codes, high_half), hn::ShiftRight<4>(rest));
    in = {look_up(tables.inner, even), look_up(tables.inner, odd)};
    out = {look_up(tables.outer, even), look_up(tables.outer, odd)};
  }
};
#endif

void cell_rows(const CellsPage& page, const HalfScale& even, const HalfScale& odd, std::size_t nibble,
               int rows) {
  const std::size_t pairs = static_cast<std::size_t>(page.layout->channels / 2);
  const std::byte* anchor = page.anchor + page.layout->nibbles_at();
  const Ends ends(*page.tables);
  for (int i = 0; i < rows; ++i, nibble += pairs) {
    Pair inner, outer;
    ends(load_bytes(anchor + nibble), load_bytes(page.residual + nibble), inner, outer);
    const CellLanes low = cell_of(inner.even, outer.even, even), high = cell_of(inner.odd, outer.odd, odd);
    store_pairs(pairs_of(low.first, high.first), reinterpret_cast<std::byte*>(page.first + nibble * 2));
    store_pairs(pairs_of(low.count, high.count), reinterpret_cast<std::byte*>(page.count + nibble * 2));
  }
}

void StripCells(const CellsPage& page, int first_pair) {
  const LynxLayout& layout = *page.layout;
  const std::size_t channels = static_cast<std::size_t>(layout.channels), pairs = channels / 2;
  const std::size_t pair = static_cast<std::size_t>(first_pair), column = pair * 2;
  const Word gmin = load_pairs(page.anchor + layout.gmin_at() + column * 2);
  const Word gscale = load_pairs(page.anchor + layout.gscale_at() + column * 2);
  HalfScale even{even_values(gmin), even_values(gscale), {}, {}},
      odd{odd_values(gmin), odd_values(gscale), {}, {}};
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    const int from = chunk * layout.chunk_tokens;
    const int first = HWY_MAX(from, layout.sinks), last = HWY_MIN(from + layout.chunk_tokens, layout.tokens);
    if (first >= last) continue;
    const std::size_t scalars_at = static_cast<std::size_t>(chunk) * channels + column;
    const Word mu8 = load_byte_pairs(page.anchor + layout.mu8_at() + scalars_at);
    const Word sg8 = load_byte_pairs(page.anchor + layout.sg8_at() + scalars_at);
    const Word low_byte = hn::Set(Words(), 0xff);
    set_scalars(even, hn::And(mu8, low_byte), hn::And(sg8, low_byte), page.coding->tables.scalar);
    set_scalars(odd, hn::ShiftRight<8>(mu8), hn::ShiftRight<8>(sg8), page.coding->tables.scalar);
    cell_rows(page, even, odd, static_cast<std::size_t>(first - layout.sinks) * pairs + pair, last - first);
  }
}
#endif

}  // namespace lynxkv::kernels::strips::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels {

namespace strips {
HWY_EXPORT(StripCells);
void cells(const CellsPage& page, int first_pair) {
  HWY_DYNAMIC_DISPATCH(StripCells)(page, first_pair);
}
}  // namespace strips

void reference::exact_cells(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                            const LynxCoding& coding, const ExactTables& tables, std::int16_t* first,
                            std::uint16_t* count) {
  const auto channels = static_cast<std::size_t>(layout.channels);
  const auto value_at = [anchor](std::size_t at) {
    Bf16 value;
    std::memcpy(&value, anchor + at, sizeof value);
    return to_float(value);
  };
  std::size_t i = 0;
  for (int token = layout.sinks; token < layout.tokens; ++token)
    for (std::size_t channel = 0; channel < channels; ++channel, ++i) {
      const std::size_t scalar = static_cast<std::size_t>(token / layout.chunk_tokens) * channels + channel;
      const float mu = lynx_centre_value(static_cast<std::uint8_t>(anchor[layout.mu8_at() + scalar]));
      const float sg = coding.tables.scalar[static_cast<std::uint8_t>(anchor[layout.sg8_at() + scalar])];
      const float gmin = value_at(layout.gmin_at() + channel * 2),
                  gscale = value_at(layout.gscale_at() + channel * 2);
      const int shift = channel % 2 == 0 ? 0 : 4;
      const int code = static_cast<int>(anchor[layout.nibbles_at() + i / 2]) >> shift & 15;
      const int index = code << 4 | (static_cast<int>(residual[i / 2]) >> shift & 15);
      const ExactCell cell = exact_cell(exact_bound(tables.inner[index], sg, mu, gscale, gmin),
                                        exact_bound(tables.outer[index], sg, mu, gscale, gmin));
      first[i] = static_cast<std::int16_t>(cell.first);
      count[i] = static_cast<std::uint16_t>(cell.count);
    }
}

}  // namespace lynxkv::kernels
#endif
