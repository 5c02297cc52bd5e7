// What an encoding block works on, and what it keeps in shared memory.
#pragma once

#include "kernels/cuda/bf16_pairs.cuh"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/codec_slice_rows.cuh"

namespace lynxkv::kernels::cuda {

// The part of a LynxCoding that encoding needs. A kernel parameter: it lies in constant memory.
struct EncodeCoding {
  LynxTables tables;
  LynxGuess guess;
  float alpha;
  LynxCentre centre;
  LynxSigma sigma;
  LynxFit fit;
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

// One slice of one page, and where its payloads go.
struct EncodeSlice : Slice {
  std::byte* anchor;
  std::byte* residual;

  __device__ EncodeSlice(const Batch<LynxEncodePage>& batch, int item) : Slice(batch, item) {
    layout.sinks = batch.page[page].sinks;
    anchor = batch.page[page].anchor;
    residual = batch.page[page].residual;
  }
};

}  // namespace lynxkv::kernels::cuda
