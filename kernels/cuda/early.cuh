// Early residuals on a GPU: the residual bytes that lie behind an anchor payload, and what is left in the
// residual payload. src/codec/early.hpp has the layout. A row's residual byte `pair` holds channels 2 pair
// and 2 pair + 1.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/codec_slice.cuh"

namespace lynxkv::kernels::cuda {

__device__ inline std::uint32_t load_byte(const std::byte* at) {
  return __ldg(reinterpret_cast<const unsigned char*>(at));
}
// Of any alignment.
__device__ inline std::uint32_t load_short(const std::byte* at) {
  return load_byte(at) | load_byte(at + 1) << 8;
}

// Where the parts lie. `pairs` of channels and the `rows` of the newest tokens are early.
struct EarlyPlace {
  int pairs, rows;
  int row_bytes, coded;  // of a whole row; rows without sinks
  std::size_t list_at;   // of the pairs' list, in the anchor payload

  __host__ __device__ EarlyPlace(const LynxLayout& layout, int early_pairs, int early_rows)
      : pairs(early_pairs),
        rows(early_rows),
        row_bytes(layout.channels / 2),
        coded(layout.tokens - layout.sinks),
        list_at(layout.anchor_bytes() + 4) {}

  __host__ __device__ bool any() const { return pairs > 0 || rows > 0; }
  __host__ __device__ int kept() const {
    return row_bytes - pairs;
  }  // bytes of a row in the residual payload
  __host__ __device__ int mixed_rows() const {
    return coded - rows;
  }  // those of which only the pairs are early
  __host__ __device__ std::size_t codes_at() const { return list_at + static_cast<std::size_t>(pairs) * 2; }
  // Of an early byte, in the anchor payload.
  __host__ __device__ std::size_t pair_at(int row, int index) const {
    return codes_at() + static_cast<std::size_t>(row) * static_cast<std::size_t>(pairs) +
           static_cast<std::size_t>(index);
  }
  __host__ __device__ std::size_t row_at(int row) const {
    return pair_at(mixed_rows(), 0) +
           static_cast<std::size_t>(row - mixed_rows()) * static_cast<std::size_t>(row_bytes);
  }
  __device__ int listed(const std::byte* anchor, int index) const {
    return static_cast<int>(load_short(anchor + list_at + static_cast<std::size_t>(index) * 2));
  }
};

// Which of 32 pairs side by side are early.
struct EarlySlice {
  int first;       // pair
  unsigned early;  // bit i: pair first + i
  int before;      // early pairs below `first`
  int below_kept;  // early pairs whose place in a row the last ones fill
  bool good;       // the list is one that an encoder writes

  // The whole warp.
  __device__ EarlySlice(const EarlyPlace& place, const std::byte* anchor, int first_pair, int lane)
      : first(first_pair), early(0), before(0), below_kept(0), good(true) {
    if (!place.any()) return;
    bool fits = load_short(anchor + place.list_at - 4) == static_cast<std::uint32_t>(place.pairs) &&
                load_short(anchor + place.list_at - 2) == static_cast<std::uint32_t>(place.rows);
    int last = -1;
    unsigned mine = 0;
    for (int base = 0; base < place.pairs; base += lanes) {
      const bool there = base + lane < place.pairs;
      const int pair = there ? place.listed(anchor, base + lane) : place.row_bytes;
      const int below = __shfl_sync(whole_warp, pair, lane > 0 ? lane - 1 : 0);
      fits = fits && (!there || (pair < place.row_bytes && pair > (lane > 0 ? below : last)));
      before += __popc(__ballot_sync(whole_warp, there && pair < first));
      below_kept += __popc(__ballot_sync(whole_warp, there && pair < place.kept()));
      if (there && pair >= first && pair < first + lanes) mine |= 1u << (pair - first);
      last = __shfl_sync(whole_warp, pair, lanes - 1);
    }
    for (int step = 1; step < lanes; step *= 2) mine |= __shfl_xor_sync(whole_warp, mine, step);
    early = mine;
    good = __all_sync(whole_warp, fits) != 0;
  }

  // Where a pair's byte lies in a mixed row: not negative: so far into the row of the residual payload;
  // negative: ~index among the early ones. The list is good.
  __device__ int source(const EarlyPlace& place, const std::byte* anchor, int pair) const {
    const int at = pair - first, rank = before + __popc(early & ((1u << at) - 1));
    if ((early >> at & 1u) != 0) return ~rank;
    return pair < place.kept() ? pair : place.listed(anchor, pair - place.kept() - (rank - below_kept));
  }
};

// The residual codes with which full decode gives the draft's values, of eight anchor codes: 0, but -4 for
// the lowest magnitude (codes 0 and 15), which drafts read as level 4.
__device__ inline std::uint32_t draft_residuals(std::uint32_t codes) {
  const std::uint32_t unlike =
      (codes ^ codes >> 1) & 0x77777777u;  // neighbouring bits of a nibble that differ
  const std::uint32_t lowest = ~(unlike | unlike >> 1 | unlike >> 2) & 0x11111111u;
  return lowest << 3 | lowest << 2;
}

}  // namespace lynxkv::kernels::cuda
