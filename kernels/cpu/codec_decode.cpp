// `lynx` draft and full decode over one strip of channels, for each instruction set.
#include "kernels/cpu/codec_strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/codec_decode.cpp"
#include <hwy/foreach_target.h>
// After foreach_target: the helpers of each instruction set.
#include <hwy/highway.h>

#include "kernels/cpu/codec_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::strips::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors at all: pages go to the plain reference, this is never called
void StripValues(const DecodePage&, int) {}
#else

// One half (even or odd channels) of a strip: the page's scale, and the chunk's scalars.
struct HalfScale {
  Float gmin, gscale, mu, sg;
};

HWY_INLINE void set_scalars(HalfScale& half, Word mu8, Word sg8, const float* scalar) {
  half.mu = hn::Div(float_of(mu8), hn::Set(Floats(), 255.0f));
  half.sg = look_up(scalar, sg8);
}

// Each operation rounds: nothing here may be fused.
HWY_INLINE Float value(Float magnitude, const HalfScale& half) {
  const Float xn = hn::Add(hn::Mul(magnitude, half.sg), half.mu);
  return hn::Add(hn::Mul(xn, half.gscale), half.gmin);
}

// The signed magnitudes of anchor nibbles: a register holds the table, or half of it, where it has room.
struct DraftTable {
#if HWY_MAX_BYTES >= 64
  Float table;
  HWY_INLINE explicit DraftTable(const LynxCoding& coding) : table(hn::LoadU(Floats(), coding.signed_draft)) {}
  HWY_INLINE Float operator()(Word nibble) const {
    return hn::TableLookupLanes(table, hn::IndicesFromVec(Floats(), hn::BitCast(Signed(), nibble)));
  }
#elif HWY_MAX_BYTES == 32
  Float table;
  HWY_INLINE explicit DraftTable(const LynxCoding& coding) : table(hn::LoadU(Floats(), coding.signed_draft)) {}
  HWY_INLINE Float operator()(Word nibble) const {
    const Word sign = hn::ShiftLeft<28>(nibble);  // bit 3 of the nibble to bit 31
    const Word flip = hn::BitCast(Words(), hn::BroadcastSignBit(hn::BitCast(Signed(), sign)));
    const Word a = hn::And(hn::Xor(nibble, flip), hn::Set(Words(), 7));
    const Float size = hn::TableLookupLanes(table, hn::IndicesFromVec(Floats(), hn::BitCast(Signed(), a)));
    return hn::Or(size, hn::BitCast(Floats(), hn::And(flip, hn::Set(Words(), 0x80000000u))));
  }
#else
  const float* table;
  HWY_INLINE explicit DraftTable(const LynxCoding& coding) : table(coding.signed_draft) {}
  HWY_INLINE Float operator()(Word nibble) const { return look_up(table, nibble); }
#endif
};

void draft_rows(const DecodePage& page, const HalfScale& even, const HalfScale& odd, const std::byte* nibbles, Bf16* row,
                int count) {
  const std::size_t channels = static_cast<std::size_t>(page.layout->channels);
  const DraftTable magnitude(*page.coding);
  for (int i = 0; i < count; ++i, row += channels, nibbles += channels / 2) {
    const Word codes = load_bytes(nibbles);
    const Float low = magnitude(hn::And(codes, hn::Set(Words(), 15)));
    const Float high = magnitude(hn::ShiftRight<4>(codes));
    store_pairs(to_pairs(value(low, even), value(high, odd)), row);
  }
}

struct Pair {
  Float even, odd;
};

// The signed magnitudes of both nibbles, for the even and the odd channels at once.
#if HWY_TARGET == HWY_AVX3
// The whole table lies in registers, cut into 16-bit halves: one permutation looks up 64 entries for both channels
// of all pairs, where a gather takes a load for each of them.
struct FullTable {
  __m512i upper[4], lower[4];

  HWY_INLINE explicit FullTable(const LynxCoding& coding) {
    for (int i = 0; i < 4; ++i) {
      upper[i] = _mm512_loadu_si512(coding.level_upper + 32 * i);
      lower[i] = _mm512_loadu_si512(coding.level_lower + 32 * i);
    }
  }
  // The low nibble to the lower half of a lane, the high one to the upper half.
  static HWY_INLINE __m512i spread(Word bytes) {
    return _mm512_and_si512(_mm512_or_si512(bytes.raw, _mm512_slli_epi32(bytes.raw, 12)), _mm512_set1_epi16(15));
  }
  static HWY_INLINE __m512i pick(const __m512i* table, __m512i index, __mmask32 second) {
    const __m512i first = _mm512_permutex2var_epi16(table[0], index, table[1]);
    return _mm512_mask_blend_epi16(second, first, _mm512_permutex2var_epi16(table[2], index, table[3]));
  }
  HWY_INLINE Pair operator()(Word codes, Word rest) const {
    const __m512i anchor = spread(codes);
    const __m512i flip = _mm512_srai_epi16(_mm512_slli_epi16(anchor, 12), 15);
    const __m512i a = _mm512_xor_si512(anchor, flip);  // above bit 3 rubble, which no permutation looks at
    const __m512i index = _mm512_or_si512(_mm512_slli_epi16(a, 4), spread(rest));
    const __mmask32 second = _mm512_test_epi16_mask(index, _mm512_set1_epi16(64));
    const __m512i sign = _mm512_and_si512(flip, _mm512_set1_epi16(-0x7fff - 1));
    const __m512i high = _mm512_or_si512(pick(upper, index, second), sign), low = pick(lower, index, second);
    const __m512i left = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const __m512i even = _mm512_or_si512(_mm512_slli_epi32(high, 16), _mm512_andnot_si512(left, low));
    const __m512i odd = _mm512_or_si512(_mm512_and_si512(left, high), _mm512_srli_epi32(low, 16));
    return {hn::BitCast(Floats(), Word{even}), hn::BitCast(Floats(), Word{odd})};
  }
};
#else
struct FullTable {
  const float* table;
  HWY_INLINE explicit FullTable(const LynxCoding& coding) : table(coding.signed_level) {}
  HWY_INLINE Pair operator()(Word codes, Word rest) const {
    const Word low_half = hn::Set(Words(), 15), high_half = hn::Set(Words(), 0xf0);
    const Word even = hn::Or(hn::ShiftLeft<4>(hn::And(codes, low_half)), hn::And(rest, low_half));
    const Word odd = hn::Or(hn::And(codes, high_half), hn::ShiftRight<4>(rest));
    return {look_up(table, even), look_up(table, odd)};
  }
};
#endif

void full_rows(const DecodePage& page, const HalfScale& even, const HalfScale& odd, const std::byte* nibbles,
               const std::byte* residual, Bf16* row, int count) {
  const std::size_t channels = static_cast<std::size_t>(page.layout->channels);
  const FullTable magnitudes(*page.coding);
  for (int i = 0; i < count; ++i, row += channels, nibbles += channels / 2, residual += channels / 2) {
    const Pair magnitude = magnitudes(load_bytes(nibbles), load_bytes(residual));
    store_pairs(to_pairs(value(magnitude.even, even), value(magnitude.odd, odd)), row);
  }
}

void StripValues(const DecodePage& page, int first_pair) {
  const LynxLayout& layout = *page.layout;
  const std::size_t channels = static_cast<std::size_t>(layout.channels), pairs = channels / 2;
  const std::size_t pair = static_cast<std::size_t>(first_pair), column = pair * 2;
  const Word gmin = load_pairs(page.anchor + layout.gmin_at() + column * 2);
  const Word gscale = load_pairs(page.anchor + layout.gscale_at() + column * 2);
  HalfScale even{even_values(gmin), even_values(gscale), {}, {}}, odd{odd_values(gmin), odd_values(gscale), {}, {}};
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
    const std::size_t nibble = static_cast<std::size_t>(first - layout.sinks) * pairs + pair;
    const std::byte* nibbles = page.anchor + layout.nibbles_at() + nibble;
    Bf16* row = page.rows + static_cast<std::size_t>(first) * channels + column;
    if (page.residual == nullptr)
      draft_rows(page, even, odd, nibbles, row, last - first);
    else
      full_rows(page, even, odd, nibbles, page.residual + nibble, row, last - first);
  }
}
#endif

}  // namespace lynxkv::kernels::strips::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels::strips {

HWY_EXPORT(StripValues);
void values(const DecodePage& page, int first_pair) { HWY_DYNAMIC_DISPATCH(StripValues)(page, first_pair); }

}  // namespace lynxkv::kernels::strips
#endif
