// Early residuals chosen and moved: a block takes a page. It finds the pairs of channels with the widest
// chunks, and hands each byte of the whole residual to the anchor's end or to the residual payload.
#include <cuda_runtime.h>

#include "base/check.hpp"
#include "kernels/cuda/bf16_pairs.cuh"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/codec_launch.cuh"
#include "kernels/cuda/early.cuh"
#include "kernels/cuda/shared_memory.cuh"

namespace lynxkv::kernels::cuda {
namespace {

struct ScalarTable {
  float scalar[256];  // by sg8
};

// A pair and how far drafts of its channels may be off.
struct Candidate {
  float width;
  int pair;

  // Wider, the first of equals.
  __device__ bool before(const Candidate& other) const {
    return width > other.width || (width == other.width && pair < other.pair);
  }
};
constexpr float chosen = -2.0f, unfit = -1.0f;  // in place of a width: taken already; not a number

// Behind it in shared memory: widths float[row_bytes]; then, as u16, the list of early pairs [pairs] and
// where each byte of a row of the residual payload comes from [row_bytes].
struct MoveShared {
  float scalar[256];
  Candidate best[block_warps];

  __device__ float* widths() { return reinterpret_cast<float*>(this + 1); }
  __device__ std::uint16_t* list(int row_bytes) {
    return reinterpret_cast<std::uint16_t*>(widths() + row_bytes);
  }
  static std::size_t bytes(int row_bytes, int pairs) {
    return sizeof(MoveShared) + static_cast<std::size_t>(row_bytes) * 6 + static_cast<std::size_t>(pairs) * 2;
  }
};

__device__ inline float pair_width(const EarlyMovePage& page, const LynxLayout& layout, const float* scalar,
                                   int pair) {
  const std::size_t channel = static_cast<std::size_t>(pair) * 2;
  const std::uint32_t gscale =
      __ldg(reinterpret_cast<const unsigned int*>(page.anchor + layout.gscale_at() + channel * 2));
  float even = 0.0f, odd = 0.0f;
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    const TokenRange range = tokens_of_chunk(layout, chunk);
    if (range.first >= range.last) continue;
    const std::size_t at =
        static_cast<std::size_t>(chunk) * static_cast<std::size_t>(layout.channels) + channel;
    const std::uint32_t sg8 =
        __ldg(reinterpret_cast<const unsigned short*>(page.anchor + layout.sg8_at() + at));
    const float tokens = static_cast<float>(range.last - range.first);
    const float low = scalar[sg8 & 0xffu] * even_value(gscale), high = scalar[sg8 >> 8] * odd_value(gscale);
    const float low_area = low * low, high_area = high * high;
    even = even + low_area * tokens;
    odd = odd + high_area * tokens;
  }
  const float width = even + odd;
  return width >= 0.0f ? width : unfit;
}

__device__ inline Candidate better_of(Candidate a, Candidate b) {
  return b.before(a) ? b : a;
}

// The block: marks the widest pair that is not chosen.
__device__ inline void choose_one(MoveShared& shared, int row_bytes) {
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  Candidate best{chosen, row_bytes};
  for (int pair = static_cast<int>(threadIdx.x); pair < row_bytes; pair += block_threads)
    best = better_of(best, {shared.widths()[pair], pair});
  for (int step = 1; step < lanes; step *= 2)
    best = better_of(
        best, {__shfl_xor_sync(whole_warp, best.width, step), __shfl_xor_sync(whole_warp, best.pair, step)});
  if (lane == 0) shared.best[warp] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < block_warps; ++i) best = better_of(best, shared.best[i]);
    if (best.pair < row_bytes) shared.widths()[best.pair] = chosen;
  }
  __syncthreads();
}

// One warp: the list in order, and where the bytes of a residual row come from.
__device__ inline void list_pairs(const EarlyPlace& place, MoveShared& shared, int lane) {
  std::uint16_t* const list = shared.list(place.row_bytes);
  std::uint16_t* const source = list + place.pairs;
  const unsigned below = (1u << lane) - 1;
  int listed = 0, fillers = 0;
  for (int base = 0; base < place.row_bytes; base += lanes) {
    const int pair = base + lane;
    const bool there = pair < place.row_bytes, is_early = there && shared.widths()[pair] == chosen;
    const bool fills = there && !is_early && pair >= place.kept();
    const unsigned early_lanes = __ballot_sync(whole_warp, is_early),
                   filling = __ballot_sync(whole_warp, fills);
    if (is_early) list[listed + __popc(early_lanes & below)] = static_cast<std::uint16_t>(pair);
    if (there && !is_early && pair < place.kept()) source[pair] = static_cast<std::uint16_t>(pair);
    __syncwarp();
    // The n-th of the last pairs takes the place of the n-th early one, which was listed before.
    if (fills) source[list[fillers + __popc(filling & below)]] = static_cast<std::uint16_t>(pair);
    listed += __popc(early_lanes);
    fillers += __popc(filling);
  }
}

__device__ inline void move_byte(std::byte* to, const std::byte* from) {
  __stcs(reinterpret_cast<unsigned char*>(to), __ldcs(reinterpret_cast<const unsigned char*>(from)));
}

// One warp: a row of the whole residual.
__device__ inline void move_row(const EarlyMovePage& page, const EarlyPlace& place, const std::uint16_t* list,
                                int row, int lane) {
  const std::byte* from =
      page.whole + static_cast<std::size_t>(row) * static_cast<std::size_t>(place.row_bytes);
  if (row >= place.mixed_rows()) {
    for (int i = lane; i < place.row_bytes; i += lanes)
      move_byte(page.anchor + place.row_at(row) + i, from + i);
    return;
  }
  std::byte* const left =
      page.residual + static_cast<std::size_t>(row) * static_cast<std::size_t>(place.kept());
  const std::uint16_t* const source = list + place.pairs;
  for (int i = lane; i < place.pairs; i += lanes)
    move_byte(page.anchor + place.pair_at(row, i), from + list[i]);
  for (int i = lane; i < place.kept(); i += lanes) move_byte(left + i, from + source[i]);
}

__device__ inline void store_short(std::byte* at, int value) {
  __stcs(reinterpret_cast<unsigned char*>(at), static_cast<unsigned char>(value));
  __stcs(reinterpret_cast<unsigned char*>(at) + 1, static_cast<unsigned char>(value >> 8));
}

__global__ void __launch_bounds__(block_threads)
    move_early_residuals(const __grid_constant__ Batch<EarlyMovePage> batch,
                         const __grid_constant__ ScalarTable table) {
  MoveShared& shared = *reinterpret_cast<MoveShared*>(shared_memory());
  copy_words(shared.scalar, table.scalar, sizeof table.scalar);
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  for (int index = static_cast<int>(blockIdx.x); index < batch.pages; index += static_cast<int>(gridDim.x)) {
    const EarlyMovePage& page = batch.page[index];
    LynxLayout layout;
    layout.tokens = page.tokens;
    layout.channels = batch.channels;
    layout.sinks = page.sinks;
    layout.chunk_tokens = batch.chunk_tokens;
    const EarlyPlace place(layout, page.early_pairs, page.early_rows);
    __syncthreads();  // nobody uses the last page's list any more
    for (int pair = static_cast<int>(threadIdx.x); pair < place.row_bytes; pair += block_threads)
      shared.widths()[pair] = pair_width(page, layout, shared.scalar, pair);
    __syncthreads();
    for (int i = 0; i < place.pairs; ++i) choose_one(shared, place.row_bytes);
    if (warp == 0) list_pairs(place, shared, lane);
    __syncthreads();
    const std::uint16_t* const list = shared.list(place.row_bytes);
    if (place.any()) {
      if (threadIdx.x == 0) store_short(page.anchor + place.list_at - 4, place.pairs);
      if (threadIdx.x == 1) store_short(page.anchor + place.list_at - 2, place.rows);
      for (int i = static_cast<int>(threadIdx.x); i < place.pairs; i += block_threads)
        store_short(page.anchor + place.list_at + static_cast<std::size_t>(i) * 2, list[i]);
    }
    for (int row = warp; row < place.coded; row += block_warps) move_row(page, place, list, row, lane);
  }
}

}  // namespace

void move_early(std::span<const EarlyMovePage> pages, const LynxShape& shape, const LynxCoding& coding,
                std::uint32_t* outcomes, StreamHandle stream) {
  int most = 0;
  for (const EarlyMovePage& page : pages) {
    LYNXKV_CHECK(page.tokens >= 1 && page.tokens <= page_tokens_limit && page.sinks >= 0 &&
                 page.sinks <= page.tokens);
    LYNXKV_CHECK(page.early_pairs >= 0 && page.early_pairs <= shape.channels / 2 &&
                 page.early_pairs <= 65535);
    LYNXKV_CHECK(page.early_rows >= 0 && page.early_rows <= page.tokens - page.sinks &&
                 is_aligned(page.anchor, 4));
    most = page.early_pairs > most ? page.early_pairs : most;
  }
  ScalarTable table;
  memcpy(table.scalar, coding.tables.scalar, sizeof table.scalar);
  const std::size_t shared_bytes = MoveShared::bytes(shape.channels / 2, most);
  if (shared_bytes > shared_memory_limit("move_early"))
    throw Error(ErrorCode::usage, "early residuals on CUDA",
                "found " + std::to_string(shape.channels) +
                    " channels; their widths do not fit into a block's shared memory");
  for_batches(pages, shape.channels, shape.chunk_tokens, outcomes, stream,
              [&](const Batch<EarlyMovePage>& batch) {
                launch(move_early_residuals, batch.pages, shared_bytes, stream, "move_early", batch, table);
              });
}

}  // namespace lynxkv::kernels::cuda
