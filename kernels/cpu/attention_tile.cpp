#include "kernels/cpu/attention_tile.hpp"

#include <algorithm>
#include <limits>

#include "kernels/cpu/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/cpu/kv_block-inl.hpp"
#include "kernels/cpu/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
// Query rows that share the loads of a KV block, and vectors a row holds at a time: what the registers hold.
constexpr int group_rows = 6;
constexpr int group_vectors = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 ? 4 : 2;

// A KV block as floats: keys by channel [head_dim][block_positions], values by position
// [block_positions][padded].
struct Block {
  const float* keys;
  const float* values;
  int first;
  int head_dim;
  int padded;
};

// scores[r][position] = query[r] . key[position], summed over channels in ascending order.
template <int row_count>
HWY_INLINE void score_rows(const Block& block, const float* query, float* scores) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int position = 0; position < block_positions; position += group_vectors * lanes) {
    hn::Vec<Floats> sums[row_count][group_vectors];
    LYNXKV_UNROLL
    for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
    for (int v = 0; v < group_vectors; ++v) sums[r][v] = hn::Zero(d);
    const float* keys = block.keys + position;
    for (int c = 0; c < block.head_dim; ++c, keys += block_positions) {
      hn::Vec<Floats> key[group_vectors];
      LYNXKV_UNROLL
      for (int v = 0; v < group_vectors; ++v) key[v] = hn::Load(d, keys + v * lanes);
      LYNXKV_UNROLL
      for (int r = 0; r < row_count; ++r) {
        const auto q = hn::Set(d, query[r * block.head_dim + c]);
        LYNXKV_UNROLL
        for (int v = 0; v < group_vectors; ++v) sums[r][v] = hn::MulAdd(q, key[v], sums[r][v]);
      }
    }
    LYNXKV_UNROLL
    for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
    for (int v = 0; v < group_vectors; ++v)
      hn::Store(sums[r][v], d, scores + r * block_positions + position + v * lanes);
  }
}

// Turns one row's scores into weights exp(score - largest) and moves the row's state to the new largest.
// `count`: positions of the block that the row may see; the others get weight 0.
HWY_INLINE void softmax_row(float* scores, int count, int padded, float& largest, float& sum, float* values) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int p = count; p < block_positions; ++p) scores[p] = -std::numeric_limits<float>::infinity();
  auto most = hn::Load(d, scores);
  for (int p = lanes; p < block_positions; p += lanes) most = hn::Max(most, hn::Load(d, scores + p));
  const float before = largest;
  largest = std::max(before, hn::GetLane(hn::MaxOfLanes(d, most)));
  auto added = hn::Zero(d);
  for (int p = 0; p < block_positions; p += lanes) {
    const auto weight = hn::Exp(d, hn::Sub(hn::Load(d, scores + p), hn::Set(d, largest)));
    hn::Store(weight, d, scores + p);
    added = hn::Add(added, weight);
  }
  const float total = hn::GetLane(hn::SumOfLanes(d, added));
  const auto keep = hn::Exp(d, hn::Set(d, before - largest));
  sum = hn::GetLane(keep) * sum + total;
  if (before != largest)
    for (int c = 0; c < padded; c += lanes) hn::Store(hn::Mul(hn::Load(d, values + c), keep), d, values + c);
}

// values[r][channel..] += weights[r][position] * V[position][channel..], positions in ascending order.
template <int row_count, int vectors>
HWY_INLINE void add_values(const Block& block, int channel, int count, const float* weights, float* values) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  hn::Vec<Floats> sums[row_count][vectors];
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
  for (int v = 0; v < vectors; ++v) sums[r][v] = hn::Load(d, values + r * block.padded + channel + v * lanes);
  const float* row = block.values + channel;
  for (int p = 0; p < count; ++p, row += block.padded) {
    hn::Vec<Floats> value[vectors];
    LYNXKV_UNROLL
    for (int v = 0; v < vectors; ++v) value[v] = hn::Load(d, row + v * lanes);
    LYNXKV_UNROLL
    for (int r = 0; r < row_count; ++r) {
      const auto weight = hn::Set(d, weights[r * block_positions + p]);
      LYNXKV_UNROLL
      for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(weight, value[v], sums[r][v]);
    }
  }
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) LYNXKV_UNROLL
  for (int v = 0; v < vectors; ++v) hn::Store(sums[r][v], d, values + r * block.padded + channel + v * lanes);
}

template <int row_count>
HWY_INLINE void attend_rows(const QueryTile& tile, const Block& block, int first_row,
                            const SoftmaxState& state) {
  const int lanes = static_cast<int>(hn::Lanes(Floats()));
  HWY_ALIGN float scores[row_count * block_positions];
  float* values = state.values + first_row * block.padded;
  score_rows<row_count>(block, tile.query + first_row * tile.head_dim, scores);
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r)
    softmax_row(scores + r * block_positions,
                std::min(block_positions, tile.limits[first_row + r] - block.first), block.padded,
                state.largest[first_row + r], state.sum[first_row + r], values + r * block.padded);
  // Rows of the group that see less have weight 0 behind their limit.
  const int count = std::min(block_positions, tile.limits[first_row + row_count - 1] - block.first);
  int channel = 0;
  for (; channel + group_vectors * lanes <= block.padded; channel += group_vectors * lanes)
    add_values<row_count, group_vectors>(block, channel, count, scores, values);
  for (; channel < block.padded; channel += lanes)
    add_values<row_count, 1>(block, channel, count, scores, values);
}

void attend(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state) {
  const int padded = padded_channels(tile.head_dim);
  clear_state(state, tile.rows, tile.head_dim);
  float* keys = scratch;
  float* values = scratch + static_cast<std::size_t>(tile.head_dim) * block_positions;
  const int last = std::min(first + partition_positions, tile.limits[tile.rows - 1]);
  int row = 0;
  for (int begin = first; begin < last; begin += block_positions) {
    while (tile.limits[row] <= begin) ++row;
    const int count = std::min(block_positions, tile.limits[tile.rows - 1] - begin);
    if (tile.kv == Element::bf16) {
      read_block<Bf16>(tile, begin, count, padded, keys, values);
    } else {
      read_block<float>(tile, begin, count, padded, keys, values);
    }
    const Block block{keys, values, begin, tile.head_dim, padded};
    int r = row;
    for (; r + group_rows <= tile.rows; r += group_rows) attend_rows<group_rows>(tile, block, r, state);
    for (; r + 3 <= tile.rows; r += 3) attend_rows<3>(tile, block, r, state);
    for (; r < tile.rows; ++r) attend_rows<1>(tile, block, r, state);
  }
}

void merge(int rows, int head_dim, const SoftmaxState& from, const SoftmaxState& into) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int padded = padded_channels(head_dim);
  for (int r = 0; r < rows; ++r) {
    if (from.sum[r] == 0.0f) continue;  // behind this row's limit
    const float largest = std::max(from.largest[r], into.largest[r]);
    const auto keep = hn::Exp(d, hn::Set(d, into.largest[r] - largest));
    const auto add = hn::Exp(d, hn::Set(d, from.largest[r] - largest));
    into.largest[r] = largest;
    into.sum[r] = into.sum[r] * hn::GetLane(keep) + from.sum[r] * hn::GetLane(add);
    for (int c = r * padded; c < (r + 1) * padded; c += lanes)
      hn::Store(hn::MulAdd(hn::Load(d, into.values + c), keep, hn::Mul(hn::Load(d, from.values + c), add)), d,
                into.values + c);
  }
}

template <class Out>
HWY_INLINE void finish(int head_dim, const float* values, float sum, Out* out) {
  for_lanes(head_dim, [=](auto d, int i) HWY_ATTR {
    store(d, hn::Div(hn::LoadU(d, values + i), hn::Set(d, sum)), out + i);
  });
}

void finish_any(int head_dim, const float* values, float sum, Element element, void* out) {
  if (element == Element::bf16) {
    finish(head_dim, values, sum, static_cast<Bf16*>(out));
  } else {
    finish(head_dim, values, sum, static_cast<float*>(out));
  }
}

}  // namespace lynxkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels {

HWY_EXPORT(attend);
HWY_EXPORT(merge);
HWY_EXPORT(finish_any);

// Keys and values of a block as floats; with bf16 dots they take half of it and the query goes behind them.
std::size_t attention_scratch(int rows, int head_dim) {
  return static_cast<std::size_t>(head_dim + padded_channels(head_dim)) * block_positions +
         static_cast<std::size_t>(rows) * static_cast<std::size_t>(padded_channels(head_dim) / 2);
}
void clear_state(const SoftmaxState& state, int rows, int head_dim) {
  std::fill_n(state.largest, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(state.sum, rows, 0.0f);
  std::fill_n(state.values,
              static_cast<std::size_t>(rows) * static_cast<std::size_t>(padded_channels(head_dim)), 0.0f);
}
void attend_partition(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state) {
  HWY_DYNAMIC_DISPATCH(attend)(tile, first, scratch, state);
}
void merge_partition(int rows, int head_dim, const SoftmaxState& from, const SoftmaxState& into) {
  HWY_DYNAMIC_DISPATCH(merge)(rows, head_dim, from, into);
}
void finish_row(int head_dim, const float* values, float sum, Element element, void* out) {
  HWY_DYNAMIC_DISPATCH(finish_any)(head_dim, values, sum, element, out);
}

}  // namespace lynxkv::kernels
#endif
