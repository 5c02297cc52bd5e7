// Launching the codec kernels: pages in batches that fit kernel parameters, as many blocks as the GPU holds at once.
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "base/check.hpp"
#include "kernels/cuda/codec_slice.cuh"
#include "kernels/cuda/cuda_error.cuh"
#include "kernels/cuda/runtime.hpp"

namespace lynxkv::kernels::cuda {

// The block's threads copy a table of 4-byte words from kernel parameters to shared memory.
__device__ inline void copy_words(void* to, const void* from, std::size_t bytes) {
  for (unsigned i = threadIdx.x; i < bytes / 4; i += block_threads)
    static_cast<std::uint32_t*>(to)[i] = static_cast<const std::uint32_t*>(from)[i];
}

// Of the longest page.
template <class Page>
int tokens_limit(std::span<const Page> pages) {
  int most = 1;
  for (const Page& page : pages) most = page.tokens > most ? page.tokens : most;
  return most;
}
template <class Page>
int chunks_limit(std::span<const Page> pages, int chunk_tokens) {
  return (tokens_limit(pages) + chunk_tokens - 1) / chunk_tokens;
}

// Sets all outcomes to `coded`, then hands out the pages in batches. A kernel only ever raises an outcome.
template <class Page, class Body>
void for_batches(std::span<const Page> pages, int channels, int chunk_tokens, std::uint32_t* outcomes, StreamHandle stream,
                 Body body) {
  if (pages.empty()) return;
  LYNXKV_CHECK(channels >= 2 && channels % 2 == 0);
  LYNXKV_CHECK(chunk_tokens >= 1 && chunk_tokens <= page_tokens_limit);
  check(cudaMemsetAsync(outcomes, 0, pages.size() * sizeof *outcomes, stream), "cudaMemsetAsync of the outcomes");
  Batch<Page> batch{};
  batch.channels = channels;
  batch.chunk_tokens = chunk_tokens;
  batch.slices = (channels + slice_channels - 1) / slice_channels;
  for (std::size_t first = 0; first < pages.size(); first += launch_pages) {
    const std::size_t left = pages.size() - first;
    batch.pages = static_cast<int>(left < launch_pages ? left : launch_pages);
    batch.outcomes = outcomes + first;
    for (int i = 0; i < batch.pages; ++i) batch.page[i] = pages[first + static_cast<std::size_t>(i)];
    body(batch);
  }
}

// Bytes that a block may have on this device.
inline std::size_t shared_memory_limit(const char* name) {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), name);
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), name);
  return static_cast<std::size_t>(bytes);
}

// At most `blocks` blocks of `threads` threads, and no more than run at once: each takes items in turn.
template <class Kernel, class... Arguments>
void launch_blocks_of(int threads, Kernel kernel, int blocks, std::size_t shared_bytes, StreamHandle stream,
                      const char* name, const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)), name);
  int device = 0, processors = 0, blocks_each = 0;
  check(cudaGetDevice(&device), name);
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), name);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, threads, shared_bytes), name);
  const int at_once = processors * (blocks_each > 0 ? blocks_each : 1);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks < at_once ? blocks : at_once));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}
template <class Kernel, class... Arguments>
void launch(Kernel kernel, int blocks, std::size_t shared_bytes, StreamHandle stream, const char* name,
            const Arguments&... arguments) {
  launch_blocks_of(block_threads, kernel, blocks, shared_bytes, stream, name, arguments...);
}

}  // namespace lynxkv::kernels::cuda
