// The rows of a slice in shared memory, their extremes, and the exact normalisation: what every encoder with one scale
// for a page's channel begins with.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "kernels/cuda/bf16_pairs.cuh"
#include "kernels/cuda/codec_slice.cuh"

namespace lynxkv::kernels::cuda {

// One slice of one page.
struct Slice {
  LynxLayout layout;
  const Bf16* rows;
  int page;
  int first_channel;

  template <class Page>
  __device__ Slice(const Batch<Page>& batch, int item) : page(item / batch.slices) {
    layout.tokens = batch.page[page].tokens;
    layout.channels = batch.channels;
    layout.chunk_tokens = batch.chunk_tokens;
    rows = batch.page[page].rows;
    first_channel = (item - page * batch.slices) * slice_channels;
  }
};

// Starts copying a slice's rows to shared memory, 16 bytes a thread where the page allows it, a pair otherwise.
// Channels past the page's last become zeros, so that no later stage has to ask.
__device__ inline void load_slice(const Slice& slice, std::uint32_t* to) {
  const int channels = slice.layout.channels;
  const bool wide = channels % block_channels == 0 && is_aligned(slice.rows, 16);
  for (int i = static_cast<int>(threadIdx.x); i < slice.layout.tokens * lanes_across; i += block_threads) {
    const int token = i / lanes_across, channel = slice.first_channel + i % lanes_across * block_channels;
    const Bf16* from = slice.rows + static_cast<std::size_t>(token) * static_cast<std::size_t>(channels) + channel;
    std::uint32_t* words = to + i * (block_channels / 2);
    if (wide && channel < channels) {
      __pipeline_memcpy_async(words, from, 16);
      continue;
    }
    for (int pair = 0; pair < block_channels / 2; ++pair) {
      if (channel + 2 * pair < channels)
        __pipeline_memcpy_async(words + pair, from + 2 * pair, 4);
      else
        words[pair] = 0;
    }
  }
}

// Least and largest value of each channel over a chunk.
__device__ inline void take_chunk_extremes(const Slice& slice, const std::uint32_t* rows, int chunk, int lane,
                                           std::uint32_t* extremes) {
  const TokenRange range = tokens_of_chunk(slice.layout, chunk);
  const int across = lane % lanes_across, down = lane / lanes_across;
  std::uint32_t least[4], largest[4];
  for (int i = 0; i < 4; ++i) {
    least[i] = pair_of_infinities;
    largest[i] = pair_of_minus_infinities;
  }
  for (int token = range.first + down; token < range.last; token += rows_at_once) {
    const uint4 x = reinterpret_cast<const uint4*>(rows)[token * lanes_across + across];
    const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
    for (int i = 0; i < 4; ++i) {
      least[i] = least_of(least[i], words[i]);
      largest[i] = largest_of(largest[i], words[i]);
    }
  }
  for (int step = lanes_across; step < lanes; step *= 2)
    for (int i = 0; i < 4; ++i) {
      least[i] = least_of(least[i], __shfl_xor_sync(whole_warp, least[i], step));
      largest[i] = largest_of(largest[i], __shfl_xor_sync(whole_warp, largest[i], step));
    }
  uint4* kept = reinterpret_cast<uint4*>(extremes) + chunk * 2 * lanes_across;
  if (down == 0) kept[across] = make_uint4(least[0], least[1], least[2], least[3]);
  if (down == 1) kept[lanes_across + across] = make_uint4(largest[0], largest[1], largest[2], largest[3]);
}

__device__ inline unsigned outcome_of(Bf16 least, Bf16 largest) {
  if (!is_finite(least) || !is_finite(largest)) return static_cast<unsigned>(PageOutcome::not_finite);
  return static_cast<unsigned>(lynx_needs_raw(least) || lynx_needs_raw(largest) ? PageOutcome::raw : PageOutcome::coded);
}

// (x - gmin) / gscale, correctly rounded, without a division: gscale has eight significant bits, so the remainder is
// exact and one correction gives the rounded quotient. safe_scale() says where nothing can overflow or underflow.
__device__ inline float normalised(float x, float gmin, float gscale, float per_gscale) {
  const float above = x - gmin;
  const float quotient = above * per_gscale;
  const float remainder = __fmaf_rn(-quotient, gscale, above);
  return __fmaf_rn(remainder, per_gscale, quotient);
}
__device__ inline bool safe_scale(float gscale) { return gscale == 0.0f || (gscale >= 0x1p-60f && gscale <= 0x1p100f); }
__device__ inline float reciprocal_or_zero(float x) { return x > 0.0f ? 1.0f / x : 0.0f; }

}  // namespace lynxkv::kernels::cuda
