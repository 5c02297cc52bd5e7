// What an encoding block keeps in shared memory, and the arithmetic that its stages share.
#pragma once

#include "kernels/cuda/bf16_pairs.cuh"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/codec_slice.cuh"

namespace lynxkv::kernels::cuda {

// The part of a LynxCoding that encoding needs. A kernel parameter: it lies in constant memory.
struct EncodeCoding {
  LynxTables tables;
  LynxGuess guess;
  float alpha;
  LynxCentre centre;
  LynxSigma sigma;
};

// Of each channel of the slice, as floats.
struct PageTerms {
  float gmin[slice_channels];
  float gscale[slice_channels];
  float per_gscale[slice_channels];  // 1 / gscale, 0 where gscale is 0
};
struct ChunkTerms {
  float minus_mu[slice_channels];
  float sg[slice_channels];
  float per_sg[slice_channels];  // 1 / sg, 0 where sg is 0
};

struct EncodeShared {
  LynxTables tables;  // looked up by lanes at different places, which constant memory is slow at
  std::uint32_t usable;  // 0: this slice makes the page raw or an error
  std::uint32_t divide;  // 1: some gscale is so small or large that only a true division is safe
  alignas(16) PageTerms page;
  ChunkTerms chunk[block_warps];
  // Two stages: one is coded while the next slice arrives in the other. [tokens][pairs]
  alignas(128) std::uint32_t rows[2][page_tokens_limit * slice_pairs];
  // Behind it: extremes [chunks][least, largest][pairs]
};
__device__ inline std::uint32_t* extremes_of(EncodeShared& shared) { return reinterpret_cast<std::uint32_t*>(&shared + 1); }
constexpr std::size_t extremes_bytes(int chunks) { return static_cast<std::size_t>(chunks) * 2 * slice_pairs * sizeof(std::uint32_t); }
static_assert(sizeof(EncodeShared) % 128 == 0);

// One slice of one page.
struct EncodeSlice {
  LynxLayout layout;
  const Bf16* rows;
  std::byte* anchor;
  std::byte* residual;
  int page;
  int first_channel;

  __device__ EncodeSlice(const Batch<LynxEncodePage>& batch, int item) : page(item / batch.slices) {
    const LynxEncodePage& from = batch.page[page];
    layout.tokens = from.tokens;
    layout.channels = batch.channels;
    layout.sinks = from.sinks;
    layout.chunk_tokens = batch.chunk_tokens;
    rows = from.rows;
    anchor = from.anchor;
    residual = from.residual;
    first_channel = (item - page * batch.slices) * slice_channels;
  }
};

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
