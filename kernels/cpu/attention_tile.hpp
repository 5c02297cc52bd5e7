// The inner part of attention: some query rows of one KV head against one partition of positions.
#pragma once

#include <cstddef>
#include <span>

#include "base/bf16.hpp"
#include "kernels/attention.hpp"

namespace lynxkv::kernels {

inline constexpr int block_positions = 64;       // scores of one row that are held at a time
inline constexpr int partition_positions = 512;  // a whole number of blocks

// Channels of a head, rounded up so that whole vectors fit; the surplus is zero.
constexpr int padded_channels(int head_dim) {
  return (head_dim + 15) / 16 * 16;
}

// Softmax in progress for `rows` query rows.
struct SoftmaxState {
  float* largest;  // [rows]: the largest score so far
  float* sum;      // [rows]: of exp(score - largest)
  float* values;   // [rows][padded_channels]: sum of exp(score - largest) * V
};

// The query rows of a tile: those of one position are neighbours (one for each head of the group).
struct QueryTile {
  const float* query;  // [rows][head_dim], already scaled
  const int* limits;   // [rows]: attends to positions below this; ascending
  int rows;
  int head_dim;
  Element kv;
  std::size_t kv_offset;  // elements from the start of a KV row to this head
  std::size_t kv_row;     // elements from one KV row to the next
  std::span<const KvRun> runs;
};

// Floats of scratch memory that attend_partition needs.
std::size_t attention_scratch(int rows, int head_dim);

// Starts `state` afresh for positions [first, first + partition_positions) and runs through them. Rows whose
// limit is at or below `first` are left as having seen nothing: largest -inf, sum 0.
void attend_partition(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state);

// The same with bf16 dot products, Q and the softmax weights rounded to bf16: for CPUs with AVX-512 BF16,
// bf16 KV and heads of whole vectors.
bool has_bf16_dots(Element kv, int head_dim) noexcept;
void attend_partition_bf16_dots(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state);

// Adds what `from` has seen to `into`; merging partitions in ascending order gives the whole.
void merge_partition(int rows, int head_dim, const SoftmaxState& from, const SoftmaxState& into);

// out[c] = values[c] / sum of one row.
void finish_row(int head_dim, const float* values, float sum, Element element, void* out);

// Nothing seen yet.
void clear_state(const SoftmaxState& state, int rows, int head_dim);

// Where a tile's rows of positions [first, first + count) are.
template <class Stored>
void find_rows(const QueryTile& tile, int first, int count, const Stored** keys, const Stored** values) {
  std::size_t run = 0;
  for (int p = 0; p < count; ++p) {
    while (tile.runs[run].first_position + tile.runs[run].tokens <= first + p) ++run;
    const auto row =
        static_cast<std::size_t>(first + p - tile.runs[run].first_position) * tile.kv_row + tile.kv_offset;
    keys[p] = static_cast<const Stored*>(tile.runs[run].keys) + row;
    values[p] = static_cast<const Stored*>(tile.runs[run].values) + row;
  }
}

}  // namespace lynxkv::kernels
