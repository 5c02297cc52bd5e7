// Reads one block of KV into floats, the keys turned so that positions lie side by side: a row's scores for a
// block are then sums of whole vectors. Included once for each Highway target.
#include <hwy/highway.h>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/lanes-inl.hpp"

#if defined(LYNXKV_KERNELS_KV_BLOCK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LYNXKV_KERNELS_KV_BLOCK_INL_HPP
#undef LYNXKV_KERNELS_KV_BLOCK_INL_HPP
#else
#define LYNXKV_KERNELS_KV_BLOCK_INL_HPP
#endif

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Four rows of four 32-bit words become four columns.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void turn(D d, V& a, V& b, V& c, V& e) {
  const hn::Repartition<std::uint64_t, D> d64;
  const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d, c, e));
  a = hn::BitCast(d, hn::InterleaveLower(d64, ab_low, ce_low));
  b = hn::BitCast(d, hn::InterleaveUpper(d64, ab_low, ce_low));
  c = hn::BitCast(d, hn::InterleaveLower(d64, ab_high, ce_high));
  e = hn::BitCast(d, hn::InterleaveUpper(d64, ab_high, ce_high));
}
#endif

// Four positions' keys, all channels: out [head_dim][block_positions]. A word holds two bf16 channels, the
// even one in its low half.
HWY_INLINE void turn_keys(const Bf16* const* rows, int head_dim, float* out) {
  int c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::FixedTag<float, 4> df;
  for (; c + 8 <= head_dim; c += 8) {
    auto word = [&](int row)
                    HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(rows[row] + c)); };
    auto v0 = word(0), v1 = word(1), v2 = word(2), v3 = word(3);
    turn(d, v0, v1, v2, v3);
    const auto put = [&](hn::Vec<decltype(d)> pair, int channel) HWY_ATTR {
      hn::Store(hn::BitCast(df, hn::ShiftLeft<16>(pair)), df, out + channel * block_positions);
      hn::Store(hn::BitCast(df, hn::And(pair, hn::Set(d, 0xffff0000u))), df,
                out + (channel + 1) * block_positions);
    };
    put(v0, c), put(v1, c + 2), put(v2, c + 4), put(v3, c + 6);
  }
#endif
  for (; c < head_dim; ++c)
    for (int row = 0; row < 4; ++row) out[c * block_positions + row] = to_float(rows[row][c]);
}

HWY_INLINE void turn_keys(const float* const* rows, int head_dim, float* out) {
  int c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  for (; c + 4 <= head_dim; c += 4) {
    auto v0 = hn::LoadU(d, rows[0] + c), v1 = hn::LoadU(d, rows[1] + c);
    auto v2 = hn::LoadU(d, rows[2] + c), v3 = hn::LoadU(d, rows[3] + c);
    turn(d, v0, v1, v2, v3);
    hn::Store(v0, d, out + c * block_positions), hn::Store(v1, d, out + (c + 1) * block_positions);
    hn::Store(v2, d, out + (c + 2) * block_positions), hn::Store(v3, d, out + (c + 3) * block_positions);
  }
#endif
  for (; c < head_dim; ++c)
    for (int row = 0; row < 4; ++row) out[c * block_positions + row] = rows[row][c];
}

// keys [head_dim][block_positions]: finite behind `count`   values [count][padded]: zero behind head_dim
template <class Stored>
HWY_INLINE void read_block(const QueryTile& tile, int first, int count, int padded, float* keys,
                           float* values) {
  const Stored* key_rows[block_positions];
  const Stored* value_rows[block_positions];
  find_rows(tile, first, count, key_rows, value_rows);
  // Surplus positions of the last four repeat a row; their scores are masked.
  for (int p = count; p < block_positions; ++p) key_rows[p] = key_rows[count - 1];
  int p = 0;
  for (; p < count; p += 4) turn_keys(key_rows + p, tile.head_dim, keys + p);
  for (int c = 0; p < block_positions && c < tile.head_dim; ++c)
    std::fill_n(keys + c * block_positions + p, block_positions - p, 0.0f);
  for (p = 0; p < count; ++p) {
    float* out = values + p * padded;
    for_lanes(tile.head_dim,
              [&](auto d, int i) HWY_ATTR { hn::StoreU(load(d, value_rows[p] + i), d, out + i); });
    std::fill_n(out + tile.head_dim, padded - tile.head_dim, 0.0f);
  }
}

}  // namespace lynxkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
