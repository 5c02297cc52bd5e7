// `lynx` encode: a block takes slices of pages in turn and codes one while the next arrives in shared memory. A
// page is read once: extremes, scalars and nibbles all come from the copy in shared memory.
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include "base/check.hpp"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/codec_encode_rows.cuh"
#include "kernels/cuda/codec_encode_scalars.cuh"
#include "kernels/cuda/codec_launch.cuh"
#include "kernels/cuda/codec_slice_rows.cuh"
#include "kernels/cuda/cuda_error.cuh"
#include "kernels/cuda/shared_memory.cuh"

namespace lynxkv::kernels::cuda {
namespace {

// Sinks travel raw. Gives the lane's outcome. Taken by all warps but the first.
__device__ inline unsigned copy_sinks(const EncodeSlice& slice, const std::uint32_t* rows) {
  unsigned outcome = 0;
  for (int i = static_cast<int>(threadIdx.x) - lanes; i < slice.layout.sinks * slice_pairs; i += block_threads - lanes) {
    const int token = i / slice_pairs, channel = slice.first_channel + i % slice_pairs * 2;
    if (channel >= slice.layout.channels) continue;
    const std::uint32_t x = rows[i];
    if (!is_finite(even_of(x)) || !is_finite(odd_of(x))) outcome = static_cast<unsigned>(PageOutcome::not_finite);
    std::byte* at = slice.anchor + static_cast<std::size_t>(token) * slice.layout.row_bytes() + static_cast<std::size_t>(channel) * 2;
    __stcs(reinterpret_cast<unsigned int*>(at), x);
  }
  return outcome;
}

template <GuessForm kForm>
__device__ inline void encode_slice(const EncodeSlice& slice, const std::uint32_t* rows, const EncodeCoding& coding,
                                    EncodeShared& shared, std::uint32_t* outcome_word) {
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int chunks = slice.layout.chunks();
  for (int chunk = warp; chunk < chunks; chunk += block_warps)
    take_chunk_extremes(slice, rows, chunk, lane, extremes_of(shared));
  __syncthreads();
  const unsigned outcome = warp == 0 ? take_page_scale(slice, shared, lane) : copy_sinks(slice, rows);
  if (outcome != 0) atomicMax(outcome_word, outcome);
  __syncthreads();
  if (shared.usable == 0) return;
  ChunkTerms& terms = shared.chunk[warp];
  for (int chunk = warp; chunk < chunks; chunk += block_warps) {
    take_chunk_terms(slice, rows, chunk, lane, coding, shared, terms);
    __syncwarp();
    code_chunk<kForm>(slice, rows, chunk, lane, coding, shared, terms);
    __syncwarp();  // before the next chunk's terms
  }
}

template <GuessForm kForm>
__global__ void __launch_bounds__(block_threads, 2)
    encode_pages(const __grid_constant__ Batch<LynxEncodePage> batch, const __grid_constant__ EncodeCoding coding) {
  EncodeShared& shared = *reinterpret_cast<EncodeShared*>(shared_memory());
  copy_words(&shared.tables, &coding.tables, sizeof(LynxTables));
  const int items = batch.pages * batch.slices, stride = static_cast<int>(gridDim.x);
  int item = static_cast<int>(blockIdx.x);
  if (item < items) load_slice(EncodeSlice(batch, item), shared.rows[0]);
  __pipeline_commit();
  for (int stage = 0; item < items; item += stride, stage ^= 1) {
    if (item + stride < items) load_slice(EncodeSlice(batch, item + stride), shared.rows[stage ^ 1]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const EncodeSlice slice(batch, item);
    encode_slice<kForm>(slice, shared.rows[stage], coding, shared, batch.outcomes + slice.page);
    __syncthreads();  // before the stage is filled again
  }
}

using EncodeKernel = void (*)(Batch<LynxEncodePage>, EncodeCoding);

EncodeKernel kernel_for(const LynxGuess& guess) {
  if (guess.of_logarithm) return encode_pages<GuessForm::logarithm>;
  return guess.degree == 3 ? encode_pages<GuessForm::cubic> : encode_pages<GuessForm::seventh_degree>;
}

}  // namespace

void lynx_encode(std::span<const LynxEncodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                 std::uint32_t* outcomes, StreamHandle stream) {
  for (const LynxEncodePage& page : pages) {
    LYNXKV_CHECK(page.tokens >= 1 && page.tokens <= page_tokens_limit && page.sinks >= 0 && page.sinks <= page.tokens);
    LYNXKV_CHECK(is_aligned(page.rows, 4) && is_aligned(page.anchor, 4));
  }
  const EncodeCoding used{coding.tables, coding.guess, coding.alpha, coding.centre, coding.sigma, coding.fit};
  const std::size_t shared_bytes = sizeof(EncodeShared) + extremes_bytes(chunks_limit(pages, shape.chunk_tokens));
  for_batches(pages, shape.channels, shape.chunk_tokens, outcomes, stream, [&](const Batch<LynxEncodePage>& batch) {
    launch(kernel_for(coding.guess), batch.pages * batch.slices, shared_bytes, stream, "lynx_encode", batch, used);
  });
}

}  // namespace lynxkv::kernels::cuda
