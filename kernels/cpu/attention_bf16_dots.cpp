// Attention over bf16 KV with AVX-512 BF16 dot products of pairs: twice the rate of float32 multiply-adds,
// and a KV block is turned without being widened.
#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/highway_targets.hpp"
#include "kernels/runtime.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))), apply_to = function)
#else
// GCC 12 takes the deliberately undefined operands inside its own intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif

namespace lynxkv::kernels {
namespace {

constexpr int lanes = 16;
constexpr int group_rows = 6;                              // query rows that share the loads of a block
constexpr int position_vectors = block_positions / lanes;  // of one row's scores
constexpr int block_pairs = block_positions / 2;

using Pair = std::uint32_t;  // two bf16, the first in the low half

// A KV block as pairs: keys by pairs of channels [head_dim / 2][block_positions], values by pairs of
// positions [block_pairs][head_dim].
struct Block {
  const Pair* keys;
  const Pair* values;
  int first;
  int head_dim;
};

__m512bh as_bf16(__m512i pairs) {
  return reinterpret_cast<__m512bh>(pairs);
}
__m512bh broadcast(const Pair* pair) {
  return as_bf16(_mm512_set1_epi32(static_cast<int>(*pair)));
}
__m512bh load_pairs(const Pair* pairs) {
  return as_bf16(_mm512_load_si512(pairs));
}

// exp(x) for x <= 0, to about 1e-7 of it: 2^n times a polynomial in what is left of x log2(e).
__m512 exp_of(__m512 x) {
  const __m512 scaled = _mm512_mul_ps(_mm512_max_ps(x, _mm512_set1_ps(-126.0f)), _mm512_set1_ps(1.44269504f));
  const __m512 whole = _mm512_roundscale_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 rest = _mm512_sub_ps(scaled, whole);
  __m512 sum = _mm512_set1_ps(1.5403530e-4f);  // (ln 2)^k / k!, k = 6 .. 0
  for (const float factor : {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
    sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(factor));
  return _mm512_scalef_ps(sum, whole);
}

// Sixteen rows of sixteen words become sixteen columns, in place.
void turn(__m512i (&v)[16]) {
  __m512i t[16];
  LYNXKV_UNROLL
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  LYNXKV_UNROLL
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  LYNXKV_UNROLL
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
  }
  LYNXKV_UNROLL
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// Keys and values of [first, first + count). Positions behind repeat the last key (their scores are masked)
// and have zero values up to the end of a pair.
void read_block(const QueryTile& tile, int first, int count, Pair* keys, Pair* values) {
  alignas(64) static const Bf16 nothing[32] = {};
  const Bf16* key_rows[block_positions];
  const Bf16* value_rows[block_positions];
  find_rows(tile, first, count, key_rows, value_rows);
  for (int p = count; p < block_positions; ++p) key_rows[p] = key_rows[count - 1];
  for (int p = 0; p < block_positions; p += lanes)
    for (int c = 0; c < tile.head_dim; c += 2 * lanes) {
      __m512i words[16];
      LYNXKV_UNROLL
      for (int i = 0; i < 16; ++i) words[i] = _mm512_loadu_si512(key_rows[p + i] + c);
      turn(words);
      LYNXKV_UNROLL
      for (int i = 0; i < 16; ++i) _mm512_store_si512(keys + (c / 2 + i) * block_positions + p, words[i]);
    }
  // Word i of the result: channel i of the even position below channel i of the odd one.
  alignas(64) std::uint16_t order[32];
  for (std::uint16_t i = 0; i < 32; ++i) order[i] = static_cast<std::uint16_t>(i / 2 + (i % 2) * 32);
  const __m512i low = _mm512_load_si512(order), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  for (int p = 0; p < count; p += 2, values += tile.head_dim)
    for (int c = 0; c < tile.head_dim; c += 2 * lanes) {
      const __m512i even = _mm512_loadu_si512(value_rows[p] + c);
      const __m512i odd = _mm512_loadu_si512(p + 1 < count ? value_rows[p + 1] + c : nothing);
      _mm512_store_si512(values + c, _mm512_permutex2var_epi16(even, low, odd));
      _mm512_store_si512(values + c + lanes, _mm512_permutex2var_epi16(even, high, odd));
    }
}

// scores[r][position] = query[r] . key[position], channel pairs in ascending order.
template <int row_count>
void score_rows(const Block& block, const Pair* query, float* scores) {
  __m512 sums[row_count][position_vectors];
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
  for (int v = 0; v < position_vectors; ++v) sums[r][v] = _mm512_setzero_ps();
  const int pairs = block.head_dim / 2;
  for (int c = 0; c < pairs; ++c) {
    __m512bh key[position_vectors];
    LYNXKV_UNROLL
    for (int v = 0; v < position_vectors; ++v)
      key[v] = load_pairs(block.keys + c * block_positions + v * lanes);
    LYNXKV_UNROLL
    for (int r = 0; r < row_count; ++r) {
      const __m512bh q = broadcast(query + r * pairs + c);
      LYNXKV_UNROLL
      for (int v = 0; v < position_vectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], q, key[v]);
    }
  }
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
  for (int v = 0; v < position_vectors; ++v)
    _mm512_store_ps(scores + r * block_positions + v * lanes, sums[r][v]);
}

// Turns one row's scores into bf16 weights exp(score - largest) and moves the row's state to the new largest.
// `count`: positions of the block that the row may see; the others get weight 0.
void softmax_row(float* scores, int count, int head_dim, Pair* weights, float& largest, float& sum,
                 float* values) {
  const std::uint64_t seen = count >= block_positions ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  __m512 score[position_vectors];
  LYNXKV_UNROLL
  for (int v = 0; v < position_vectors; ++v)
    score[v] = _mm512_mask_load_ps(_mm512_set1_ps(-1e30f), static_cast<__mmask16>(seen >> (v * lanes)),
                                   scores + v * lanes);
  const float before = largest;
  const __m512 most = _mm512_max_ps(_mm512_max_ps(score[0], score[1]), _mm512_max_ps(score[2], score[3]));
  largest = std::max(before, _mm512_reduce_max_ps(most));
  // The weights are summed as rounded: the values that they multiply then average exactly.
  const __m512bh ones = as_bf16(_mm512_set1_epi32(0x3f803f80));
  __m512 total = _mm512_setzero_ps();
  LYNXKV_UNROLL
  for (int v = 0; v < position_vectors; v += 2) {
    const __m512 low = _mm512_maskz_mov_ps(static_cast<__mmask16>(seen >> (v * lanes)),
                                           exp_of(_mm512_sub_ps(score[v], _mm512_set1_ps(largest))));
    const __m512 high = _mm512_maskz_mov_ps(static_cast<__mmask16>(seen >> ((v + 1) * lanes)),
                                            exp_of(_mm512_sub_ps(score[v + 1], _mm512_set1_ps(largest))));
    const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
    _mm512_store_si512(weights + v / 2 * lanes, reinterpret_cast<__m512i>(rounded));
    total = _mm512_dpbf16_ps(total, rounded, ones);
  }
  if (before == largest) {
    sum += _mm512_reduce_add_ps(total);
    return;
  }
  const __m512 keep = exp_of(_mm512_set1_ps(before - largest));
  sum = sum * _mm512_cvtss_f32(keep) + _mm512_reduce_add_ps(total);
  for (int c = 0; c < head_dim; c += lanes)
    _mm512_store_ps(values + c, _mm512_mul_ps(_mm512_load_ps(values + c), keep));
}

// values[r][channel..] += weights[r][pair] . V[pair][channel..], pairs in ascending order.
template <int row_count, int vectors>
void add_values(const Block& block, int channel, int pairs, const Pair* weights, float* values) {
  __m512 sums[row_count][vectors];
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
  for (int v = 0; v < vectors; ++v)
    sums[r][v] = _mm512_load_ps(values + r * block.head_dim + channel + v * lanes);
  const Pair* row = block.values + channel;
  for (int p = 0; p < pairs; ++p, row += block.head_dim) {
    __m512bh value[vectors];
    LYNXKV_UNROLL
    for (int v = 0; v < vectors; ++v) value[v] = load_pairs(row + v * lanes);
    LYNXKV_UNROLL
    for (int r = 0; r < row_count; ++r) {
      const __m512bh weight = broadcast(weights + r * block_pairs + p);
      LYNXKV_UNROLL
      for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], weight, value[v]);
    }
  }
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
  for (int v = 0; v < vectors; ++v)
    _mm512_store_ps(values + r * block.head_dim + channel + v * lanes, sums[r][v]);
}

template <int row_count>
void attend_rows(const QueryTile& tile, const Block& block, const Pair* query, int first_row,
                 const SoftmaxState& state) {
  alignas(64) float scores[row_count * block_positions];
  alignas(64) Pair weights[row_count * block_pairs];
  float* values = state.values + first_row * block.head_dim;
  score_rows<row_count>(block, query + first_row * (block.head_dim / 2), scores);
  for (int r = 0; r < row_count; ++r)
    softmax_row(scores + r * block_positions, tile.limits[first_row + r] - block.first, block.head_dim,
                weights + r * block_pairs, state.largest[first_row + r], state.sum[first_row + r],
                values + r * block.head_dim);
  // Rows of the group that see less have weight 0 behind their limit.
  const int count = std::min(block_positions, tile.limits[first_row + row_count - 1] - block.first);
  const int pairs = (count + 1) / 2;
  int channel = 0;
  for (; channel + 4 * lanes <= block.head_dim; channel += 4 * lanes)
    add_values<row_count, 4>(block, channel, pairs, weights, values);
  for (; channel < block.head_dim; channel += 2 * lanes)
    add_values<row_count, 2>(block, channel, pairs, weights, values);
}

}  // namespace

void attend_partition_bf16_dots(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state) {
  clear_state(state, tile.rows, tile.head_dim);
  const int last = std::min(first + partition_positions, tile.limits[tile.rows - 1]);
  if (first >= last) return;
  auto* keys = reinterpret_cast<Pair*>(scratch);
  Pair* values = keys + tile.head_dim / 2 * block_positions;
  Pair* query = values + block_pairs * tile.head_dim;
  for (int i = 0; i < tile.rows * tile.head_dim; i += 2 * lanes)
    _mm512_store_si512(query + i / 2,
                       reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(tile.query + i + lanes),
                                                                     _mm512_loadu_ps(tile.query + i))));
  int row = 0;
  for (int begin = first; begin < last; begin += block_positions) {
    while (tile.limits[row] <= begin) ++row;
    read_block(tile, begin, std::min(block_positions, tile.limits[tile.rows - 1] - begin), keys, values);
    const Block block{keys, values, begin, tile.head_dim};
    int r = row;
    for (; r + group_rows <= tile.rows; r += group_rows)
      attend_rows<group_rows>(tile, block, query, r, state);
    for (; r + 3 <= tile.rows; r += 3) attend_rows<3>(tile, block, query, r, state);
    for (; r < tile.rows; ++r) attend_rows<1>(tile, block, query, r, state);
  }
}

bool has_bf16_dots(Element kv, int head_dim) noexcept {
  return kv == Element::bf16 && head_dim % 32 == 0 && runtime_isa() <= Isa::avx512_bf16;
}

}  // namespace lynxkv::kernels
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else
namespace lynxkv::kernels {
void attend_partition_bf16_dots(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state) {
  attend_partition(tile, first, scratch, state);
}
bool has_bf16_dots(Element, int) noexcept {
  return false;
}
}  // namespace lynxkv::kernels
#endif
