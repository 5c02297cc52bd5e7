// Causal attention of the rows of several sequences over their paged KV, grouped queries, float32 sums.
//
// Positions are cut by their number alone into partitions of 512 and blocks of 64: within a partition a
// running softmax goes block by block, and the partitions' results are merged in order. How the KV is cut
// into pages, how many rows run together and how the work is shared out do not enter; so a row's result is
// its own, bit for bit.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/element.hpp"

namespace lynxkv::kernels {

struct AttentionShape {
  int heads = 0;  // a multiple of kv_heads: query head h reads KV head h / (heads / kv_heads)
  int kv_heads = 0;
  int head_dim = 0;
  Element kv = Element::bf16;
};

// Consecutive positions that lie together in memory (one page).
// keys, values: [tokens][kv_heads][head_dim] of AttentionShape::kv
struct KvRun {
  const void* keys = nullptr;
  const void* values = nullptr;
  int first_position = 0;
  int tokens = 0;
};

// Rows of one sequence: row i stands at first_position + i and attends to positions 0 .. first_position + i.
struct AttentionRows {
  int first_row = 0;  // in `query` and `out`
  int rows = 0;
  int first_position = 0;
  std::span<const KvRun> runs;  // from position 0 on without gaps, up to the last row's position at least
};

// query [rows] of query_stride floats, each [heads][head_dim], rotated   out [rows][heads][head_dim] of
// `element`
void attention(const AttentionShape& shape, std::span<const AttentionRows> batch, const float* query,
               int query_stride, float scale, Element element, void* out);

}  // namespace lynxkv::kernels
