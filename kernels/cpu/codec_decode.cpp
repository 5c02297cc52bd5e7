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

void full_rows(const DecodePage& page, const HalfScale& even, const HalfScale& odd, const std::byte* nibbles,
               const std::byte* residual, Bf16* row, int count) {
  const std::size_t channels = static_cast<std::size_t>(page.layout->channels);
  const float* table = page.coding->signed_level;
  const Word low_half = hn::Set(Words(), 15), high_half = hn::Set(Words(), 0xf0);
  for (int i = 0; i < count; ++i, row += channels, nibbles += channels / 2, residual += channels / 2) {
    const Word codes = load_bytes(nibbles), rest = load_bytes(residual);
    const Word even_index = hn::Or(hn::ShiftLeft<4>(hn::And(codes, low_half)), hn::And(rest, low_half));
    const Word odd_index = hn::Or(hn::And(codes, high_half), hn::ShiftRight<4>(rest));
    const Float low = look_up(table, even_index), high = look_up(table, odd_index);
    store_pairs(to_pairs(value(low, even), value(high, odd)), row);
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
