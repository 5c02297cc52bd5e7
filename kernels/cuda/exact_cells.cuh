// The cells of the exact stream on a GPU: what all values of a block's segments look up, in shared memory,
// and a lane's way through the page.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/bf16_pairs.cuh"
#include "kernels/cuda/codec_slice.cuh"
#include "kernels/cuda/early.cuh"
#include "kernels/exact.hpp"

namespace lynxkv::kernels::cuda {

// The part of a LynxCoding that cells need. A kernel parameter.
struct ExactCoding {
  int levels;
  float threshold[lynx_max_levels + 1];
  float scalar[256];  // by sg8
};

// By the number of a cell's members.
struct ExactShare {
  std::uint32_t share, reciprocal;
};

struct ExactBlockTables {
  float inner[256], outer[256];    // by both nibbles, the anchor's high
  float scalar[256], centre[256];  // by sg8, by mu8
  ExactShare share[exact_widest_cell + 1];

  __device__ void fill(const ExactCoding& coding) {
    for (int i = static_cast<int>(threadIdx.x); i < 256; i += static_cast<int>(blockDim.x)) {
      const ExactEnds ends = exact_ends(i, coding.threshold, coding.levels);
      inner[i] = ends.inner;
      outer[i] = ends.outer;
      scalar[i] = coding.scalar[i];
      centre[i] = lynx_centre_value(static_cast<std::uint8_t>(i));
      const std::uint32_t each = exact_share(i + 1);
      share[i + 1] = {each, exact_share_reciprocal(each)};
    }
  }
};

// Values that a block's warps code, a segment each, and the tokens and chunks that they lie in.
struct SegmentRange {
  int first, last;              // segments
  int first_chunk, last_chunk;  // of the values
};

__host__ __device__ inline int exact_segments(std::size_t values) {
  return static_cast<int>((values + exact_segment_values - 1) / exact_segment_values);
}
__host__ __device__ inline std::size_t exact_values(const LynxLayout& layout) {
  return layout.nibble_bytes() * 2;
}

__device__ inline SegmentRange segments_of_group(const LynxLayout& layout, int group, int warps) {
  const std::size_t values = exact_values(layout), channels = static_cast<std::size_t>(layout.channels);
  const int all = exact_segments(values), first = group * warps,
            last = first + warps < all ? first + warps : all;
  if (first >= last) return {0, 0, 0, -1};
  const std::size_t from = static_cast<std::size_t>(first) * exact_segment_values;
  const std::size_t end = static_cast<std::size_t>(last) * exact_segment_values,
                    to = (end < values ? end : values) - 1;
  return {first, last, (layout.sinks + static_cast<int>(from / channels)) / layout.chunk_tokens,
          (layout.sinks + static_cast<int>(to / channels)) / layout.chunk_tokens};
}

// Chunks that `warps` segments side by side touch at most.
inline int chunks_of_segments(int warps, int channels, int chunk_tokens, int chunks) {
  const std::size_t tokens =
      (static_cast<std::size_t>(warps) * exact_segment_values - 2) / static_cast<std::size_t>(channels) + 2;
  const std::size_t touched = (tokens - 1) / static_cast<std::size_t>(chunk_tokens) + 2;
  return touched < static_cast<std::size_t>(chunks) ? static_cast<int>(touched) : chunks;
}

// The scalars of a page's channels and of a range's chunks: each value looks at six bytes of them, so a block
// keeps them in shared memory where that is large enough for a page this wide.
struct ExactScalars {
  std::uint32_t* scales;  // [channels]: gmin low, gscale high; null: looked up where they lie
  std::uint32_t*
      codes;  // [chunks of the range][channels / 2]: mu8, sg8 of the even channel, then of the odd one

  __host__ __device__ static std::size_t bytes(int channels, int chunks) {
    return static_cast<std::size_t>(channels) * (4 + 2 * static_cast<std::size_t>(chunks));
  }

  // The whole block. False in a thread that finds a scale that is not finite: then the page is not decoded.
  __device__ bool fill(const std::byte* anchor, const LynxLayout& layout, const SegmentRange& range) const {
    const int pairs = layout.channels / 2, threads = static_cast<int>(blockDim.x);
    bool finite = true;
    for (int pair = static_cast<int>(threadIdx.x); pair < pairs; pair += threads) {
      const std::size_t at = static_cast<std::size_t>(pair) * 4;
      const std::uint32_t gmin = __ldg(reinterpret_cast<const unsigned int*>(anchor + layout.gmin_at() + at));
      const std::uint32_t gscale =
          __ldg(reinterpret_cast<const unsigned int*>(anchor + layout.gscale_at() + at));
      finite = finite && is_finite(even_of(gmin)) && is_finite(odd_of(gmin)) && is_finite(even_of(gscale)) &&
               is_finite(odd_of(gscale));
      if (scales == nullptr) continue;
      scales[2 * pair] = pair_word(even_of(gmin), even_of(gscale));
      scales[2 * pair + 1] = pair_word(odd_of(gmin), odd_of(gscale));
    }
    if (scales == nullptr) return finite;
    for (int chunk = range.first_chunk; chunk <= range.last_chunk; ++chunk)
      for (int pair = static_cast<int>(threadIdx.x); pair < pairs; pair += threads) {
        const std::size_t at = static_cast<std::size_t>(chunk) * static_cast<std::size_t>(layout.channels) +
                               static_cast<std::size_t>(pair) * 2;
        const std::uint32_t mu8 =
            __ldg(reinterpret_cast<const unsigned short*>(anchor + layout.mu8_at() + at));
        const std::uint32_t sg8 =
            __ldg(reinterpret_cast<const unsigned short*>(anchor + layout.sg8_at() + at));
        codes[(chunk - range.first_chunk) * pairs + pair] =
            (mu8 & 0xffu) | (sg8 & 0xffu) << 8 | (mu8 >> 8) << 16 | (sg8 >> 8) << 24;
      }
    return finite;
  }
};

// One lane's value of a segment, from the segment's first step on.
class ExactCursor {
 public:
  __device__ ExactCursor(const std::byte* anchor, const LynxLayout& layout, const ExactScalars& scalars,
                         int first_chunk, std::size_t value)
      : anchor_(anchor), layout_(layout), scalars_(scalars), first_chunk_(first_chunk) {
    const std::size_t row = value / static_cast<std::size_t>(layout.channels);
    token_ = layout.sinks + static_cast<int>(row);
    channel_ = static_cast<int>(value - row * static_cast<std::size_t>(layout.channels));
    chunk_ = token_ / layout.chunk_tokens;
    chunk_end_ = (chunk_ + 1) * layout.chunk_tokens;
  }

  __device__ void advance() { move(lanes / layout_.channels, lanes % layout_.channels); }
  __device__ void retreat() { move(-(lanes / layout_.channels), -(lanes % layout_.channels)); }

  // `nibbles`: both, the anchor's high. The value exists.
  __device__ ExactCell cell(int nibbles, const ExactBlockTables& tables) const {
    std::uint32_t scale, codes;
    if (scalars_.scales != nullptr) {
      scale = scalars_.scales[channel_];
      codes = scalars_.codes[(chunk_ - first_chunk_) * (layout_.channels / 2) + channel_ / 2] >>
                  (channel_ % 2 * 16) &
              0xffffu;
    } else {
      const std::size_t at = static_cast<std::size_t>(chunk_) * static_cast<std::size_t>(layout_.channels) +
                             static_cast<std::size_t>(channel_);
      const std::size_t scale_at = static_cast<std::size_t>(channel_) * 2;
      scale = load_short(anchor_ + layout_.gmin_at() + scale_at) |
              load_short(anchor_ + layout_.gscale_at() + scale_at) << 16;
      codes = load_byte(anchor_ + layout_.mu8_at() + at) | load_byte(anchor_ + layout_.sg8_at() + at) << 8;
    }
    const float gmin = even_value(scale), gscale = odd_value(scale);
    const float mu = tables.centre[codes & 0xffu], sg = tables.scalar[codes >> 8];
    return exact_cell(exact_bound(tables.inner[nibbles], sg, mu, gscale, gmin),
                      exact_bound(tables.outer[nibbles], sg, mu, gscale, gmin));
  }

 private:
  __device__ void move(int tokens, int channels) {
    token_ += tokens;
    channel_ += channels;
    if (channel_ >= layout_.channels) channel_ -= layout_.channels, ++token_;
    if (channel_ < 0) channel_ += layout_.channels, --token_;
    for (; token_ >= chunk_end_; chunk_end_ += layout_.chunk_tokens) ++chunk_;
    for (; token_ < chunk_end_ - layout_.chunk_tokens; chunk_end_ -= layout_.chunk_tokens) --chunk_;
  }

  const std::byte* anchor_;
  LynxLayout layout_;
  ExactScalars scalars_;
  int first_chunk_, token_, channel_, chunk_, chunk_end_;
};

// Where residual bytes come from: the residual itself, or both payloads of a page with early residuals.
struct ResidualBytes {
  const std::byte* anchor;
  const std::byte* residual;
  const int* sources;  // shared, [pairs], EarlySlice::source of each; null: no early residuals
  EarlyPlace place;

  // Four bytes from byte `at` of the whole residual on, of `there` values.
  __device__ std::uint32_t load(std::size_t at, int there) const {
    if (sources == nullptr)
      return load_nibbles(residual + at, there, there >= block_channels && is_aligned(residual, 4));
    int row = static_cast<int>(at / static_cast<std::size_t>(place.row_bytes)),
        pair = static_cast<int>(at) - row * place.row_bytes;
    std::uint32_t codes = 0;
    for (int i = 0; i < block_channels / 2 && 2 * i < there; ++i, ++pair) {
      if (pair == place.row_bytes) pair = 0, ++row;
      codes |= load_byte(place_of(row, pair)) << (8 * i);
    }
    return codes;
  }

 private:
  __device__ const std::byte* place_of(int row, int pair) const {
    if (row >= place.mixed_rows()) return anchor + place.row_at(row) + pair;
    const int source = sources[pair];
    if (source < 0) return anchor + place.pair_at(row, ~source);
    return residual + static_cast<std::size_t>(row) * static_cast<std::size_t>(place.kept()) + source;
  }
};

// The nibbles of 256 values, a word of eight in each lane; values past the segment's last are zeros.
constexpr int exact_tile_values = lanes * block_channels;
constexpr int exact_tile_steps = exact_tile_values / lanes;

struct NibbleTile {
  std::uint32_t anchor, residual;

  // `first`: the tile's first value in the page, a multiple of 256; `there`: values from there on.
  __device__ void load(const std::byte* anchor_nibbles, const ResidualBytes& residuals, std::size_t first,
                       int there, int lane) {
    const int mine = there - lane * block_channels;
    const std::size_t at = first / 2 + static_cast<std::size_t>(lane) * (block_channels / 2);
    const bool whole = mine >= block_channels;
    anchor = mine > 0 ? load_nibbles(anchor_nibbles + at, mine, whole) : 0;
    residual = mine > 0 ? residuals.load(at, mine) : 0;
  }
  // Of the lane's value in a step: the anchor's nibble high. The whole warp comes here.
  __device__ int of_step(int step, int lane) const {
    const int from = step * (lanes / block_channels) + lane / block_channels,
              shift = lane % block_channels * 4;
    const std::uint32_t code = __shfl_sync(whole_warp, anchor, from),
                        rest = __shfl_sync(whole_warp, residual, from);
    return static_cast<int>((code >> shift & 15u) << 4 | (rest >> shift & 15u));
  }
};

}  // namespace lynxkv::kernels::cuda
