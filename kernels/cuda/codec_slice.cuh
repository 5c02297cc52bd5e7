// How the codec kernels cut their work, and how a warp's lanes divide it.
//
// A slice is 64 channels of one page: 128 bytes of a row, a warp to each chunk of 32 tokens. A warp's lanes stand in
// two orders:
//   pairs   lane l has channels 2 l and 2 l + 1 of the slice; for scalars, of which each channel has one
//   blocks  lane l has the eight channels from 8 (l % 8) of every fourth row, from row l / 8 on; for elements:
//           16 bytes of a row, and its eight nibbles are packed into one word in registers
// Both orders touch whole 128-byte lines. Numbers pass from one to the other through a warp's lines in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/codec.hpp"

namespace lynxkv::kernels::cuda {

constexpr int slice_channels = 64;
constexpr int slice_pairs = slice_channels / 2;
constexpr int lanes = 32;
constexpr int block_warps = 8;
constexpr int block_threads = block_warps * lanes;
constexpr int block_channels = 8;                                // of one lane, in block order
constexpr int lanes_across = slice_channels / block_channels;    // lanes side by side in a row
constexpr int rows_at_once = lanes / lanes_across;               // rows that a warp handles at a time
constexpr int page_tokens_limit = 256;
constexpr unsigned whole_warp = 0xffffffffu;

// Pages of one launch: as many as stay well inside 4 KiB of kernel parameters with the tables.
constexpr int launch_pages = 48;

template <class Page>
struct Batch {
  Page page[launch_pages];
  std::uint32_t* outcomes;  // [pages]
  int pages;
  int channels;
  int chunk_tokens;
  int slices;  // of a page
};

// Tokens that a chunk of a page codes: its own, without the sinks.
struct TokenRange {
  int first, last;  // empty where first >= last
};
__device__ inline TokenRange tokens_of_chunk(const LynxLayout& layout, int chunk) {
  const int from = chunk * layout.chunk_tokens, to = from + layout.chunk_tokens;
  return {from > layout.sinks ? from : layout.sinks, to < layout.tokens ? to : layout.tokens};
}

__host__ __device__ inline bool is_aligned(const void* at, unsigned bytes) {
  return (reinterpret_cast<std::uintptr_t>(at) & (bytes - 1)) == 0;
}

// The nibbles of a lane's eight channels in one row, channel c in bits 4 c to 4 c + 3: the payload's own order.
// `there`: how many of the eight channels exist. A word is possible where rows of nibbles are whole words.
__device__ inline void store_nibbles(std::byte* at, std::uint32_t nibbles, int there, bool words) {
  if (words) {
    __stcs(reinterpret_cast<unsigned int*>(at), nibbles);
    return;
  }
  for (int i = 0; i < block_channels / 2 && 2 * i < there; ++i)
    __stcs(reinterpret_cast<unsigned char*>(at) + i, static_cast<unsigned char>(nibbles >> (8 * i)));
}
__device__ inline std::uint32_t load_nibbles(const std::byte* at, int there, bool words) {
  if (words) return __ldcs(reinterpret_cast<const unsigned int*>(at));
  std::uint32_t nibbles = 0;
  for (int i = 0; i < block_channels / 2 && 2 * i < there; ++i)
    nibbles |= static_cast<std::uint32_t>(__ldcs(reinterpret_cast<const unsigned char*>(at) + i)) << (8 * i);
  return nibbles;
}

}  // namespace lynxkv::kernels::cuda
