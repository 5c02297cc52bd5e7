// The exact stream, decoded straight into KV pages: a warp takes a segment, 32 coder states in its lanes; the
// warps of a block take neighbouring segments of a page and share what its cells look up. Codes, scalars and
// payload are read once, rows are written once.
#include <cuda_runtime.h>

#include "base/check.hpp"
#include "kernels/cuda/codec_launch.cuh"
#include "kernels/cuda/exact.hpp"
#include "kernels/cuda/exact_cells.cuh"
#include "kernels/cuda/exact_grid.cuh"
#include "kernels/cuda/exact_payload.cuh"
#include "kernels/cuda/shared_memory.cuh"

namespace lynxkv::kernels::cuda {
namespace {

constexpr int decode_warps_limit = 16;

// Behind it in shared memory: the warps' rings of words, scales and codes of ExactScalars.
struct DecodeShared {
  ExactBlockTables tables;
  SegmentMark mark[decode_warps_limit];
  std::uint32_t form;
  std::uint32_t outcome;  // of the item at hand

  __device__ std::uint32_t* ring(int warp) {
    return reinterpret_cast<std::uint32_t*>(this + 1) + warp * WordRing::capacity;
  }
};

__device__ inline LynxLayout layout_of(const Batch<ExactDecodePage>& batch, const ExactDecodePage& page) {
  LynxLayout layout;
  layout.tokens = page.tokens;
  layout.channels = batch.channels;
  layout.sinks = page.sinks;
  layout.chunk_tokens = batch.chunk_tokens;
  return layout;
}

// One warp: the payload's form and the marks of the range's segments. False where the payload is damaged.
__device__ inline bool read_head(const ExactDecodePage& page, const LynxLayout& layout,
                                 const SegmentRange& range, int lane, DecodeShared& shared) {
  const std::size_t values = exact_values(layout);
  if (values == 0) return page.payload_bytes == 0;
  if (page.payload_bytes < exact_form_bytes) return false;
  const std::uint32_t form = __ldg(reinterpret_cast<const unsigned int*>(page.payload));
  if (lane == 0) shared.form = form;
  if (form == exact_stored) return page.payload_bytes == exact_form_bytes + values * 2;
  return form == exact_coded && find_segments(page.payload, page.payload_bytes, exact_segments(values),
                                              range.first, range.last, lane, shared.mark);
}

// The block; gives the lane's outcome. Sinks are exact in the anchor.
__device__ inline std::uint32_t copy_sinks(const ExactDecodePage& page, const LynxLayout& layout) {
  std::uint32_t outcome = 0;
  const auto* from = reinterpret_cast<const unsigned int*>(page.anchor);
  auto* to = reinterpret_cast<unsigned int*>(page.rows);
  const std::size_t pairs = layout.gmin_at() / 4;
  for (std::size_t i = threadIdx.x; i < pairs; i += blockDim.x) {
    const std::uint32_t pair = __ldcs(from + i);
    if (!is_finite(even_of(pair)) || !is_finite(odd_of(pair)))
      outcome = static_cast<std::uint32_t>(PageOutcome::not_finite);
    __stcs(to + i, pair);
  }
  return outcome;
}

// One warp: a segment of a stored payload. False where the lane finds a value that is not finite.
__device__ inline bool copy_stored(const std::byte* payload, unsigned short* values, std::size_t first,
                                   int count, int lane) {
  bool finite = true;
  const auto* from = reinterpret_cast<const unsigned int*>(payload + exact_form_bytes + first * 2);
  auto* to = reinterpret_cast<unsigned int*>(values + first);
  for (int i = lane; i < count / 2; i += lanes) {
    const std::uint32_t pair = __ldcs(from + i);
    finite = finite && is_finite(even_of(pair)) && is_finite(odd_of(pair));
    __stcs(to + i, pair);
  }
  return finite;
}

// A warp's segment while it is decoded: the lane's coder state, and how far the extras are used.
struct SegmentDecoder {
  const ExactBlockTables& tables;
  const unsigned short* extras;  // in the payload
  int extra_count, extras_taken = 0;
  std::uint32_t state;
  bool good;

  // The lane's value, as bf16 bits. The whole warp comes here; only lanes that are `active` have a value.
  __device__ std::uint16_t decode(ExactCell cell, bool active, WordRing& words, unsigned lanes_below) {
    const bool wide = cell.count > exact_widest_cell, coded = active && !wide;
    const ExactShare by = tables.share[wide ? exact_widest_cell : cell.count];
    const std::uint32_t slot = state & (exact_slots - 1);
    const auto member = static_cast<std::uint32_t>((std::uint64_t{slot} * by.reciprocal) >> 32);
    const bool none = coded && member >= static_cast<std::uint32_t>(cell.count),
               outside = active && (wide || none);
    std::uint16_t bits = exact_value(cell.first + static_cast<int>(member)).bits;

    const unsigned takers = __ballot_sync(whole_warp, outside);
    if (outside) {
      const int at = extras_taken + __popc(takers & lanes_below);
      bits = at < extra_count ? __ldcs(extras + at) : static_cast<std::uint16_t>(0);
      good = good && at < extra_count && is_finite(Bf16{bits});
    }
    extras_taken += __popc(takers);

    if (coded)
      state = none ? exact_state_after_none(state, static_cast<std::uint32_t>(cell.count), by.share)
                   : by.share * (state >> exact_slot_bits) + slot - member * by.share;
    const bool refills = coded && state < exact_state_floor;
    const unsigned refilling = __ballot_sync(whole_warp, refills);
    if (refills) {
      std::uint32_t word = 0;
      const bool there = words.take(__popc(refilling & lanes_below), word);
      good = good && there;
      state = there ? state << 16 | word : exact_state_floor;
    }
    words.took(__popc(refilling));
    return bits;
  }
};

// One warp: false in a lane that finds the segment damaged.
__device__ inline bool decode_segment(const ExactDecodePage& page, const LynxLayout& layout,
                                      const SegmentRange& range, int segment, const SegmentMark& mark,
                                      const ExactScalars& scalars, const ResidualBytes& residuals,
                                      const ExactBlockTables& tables, std::uint32_t* ring, int lane) {
  const std::size_t first = static_cast<std::size_t>(segment) * exact_segment_values,
                    left = exact_values(layout) - first;
  const int values = static_cast<int>(left < exact_segment_values ? left : exact_segment_values);
  const std::byte* anchor_nibbles = page.anchor + layout.nibbles_at();
  auto* out = reinterpret_cast<unsigned short*>(page.rows) + layout.gmin_at() / 2 + first;
  const std::size_t words_at = mark.at + exact_states_bytes;

  SegmentDecoder decoder{tables,
                         reinterpret_cast<const unsigned short*>(page.payload + words_at) + mark.words,
                         static_cast<int>(mark.extras),
                         0,
                         0,
                         true};
  const auto* states = reinterpret_cast<const unsigned short*>(page.payload + mark.at) +
                       2 * lane;  // which begin at any pair of bytes
  decoder.state = static_cast<std::uint32_t>(__ldcs(states)) | static_cast<std::uint32_t>(__ldcs(states + 1))
                                                                   << 16;
  if (__any_sync(whole_warp, decoder.state < exact_state_floor)) return false;

  WordRing words(page.payload, page.payload_bytes, words_at, static_cast<int>(mark.words), ring, lane);
  ExactCursor cursor(page.anchor, layout, scalars, range.first_chunk, first + static_cast<std::size_t>(lane));
  const unsigned lanes_below = (1u << lane) - 1;
  NibbleTile next;
  next.load(anchor_nibbles, residuals, first, values, lane);
  for (int tile = 0; tile < values; tile += exact_tile_values) {
    const NibbleTile codes = next;
    next.load(anchor_nibbles, residuals, first + static_cast<std::size_t>(tile + exact_tile_values),
              values - tile - exact_tile_values, lane);
    words.refill();
    for (int step = 0; step < exact_tile_steps && tile + step * lanes < values; ++step, cursor.advance()) {
      const int value = tile + step * lanes + lane, nibbles = codes.of_step(step, lane);
      const bool active = value < values;
      const ExactCell cell = active ? cursor.cell(nibbles, tables) : ExactCell{0, 1};
      const std::uint16_t bits = decoder.decode(cell, active, words, lanes_below);
      if (active) __stcs(out + value, bits);
    }
  }
  return decoder.good && decoder.state == exact_state_floor && words.all_taken() &&
         decoder.extras_taken == decoder.extra_count;
}

// The block: where each byte of a row comes from. False where the list of early residuals is damaged.
__device__ inline bool find_sources(const EarlyPlace& early, const std::byte* anchor, int* sources,
                                    int lane) {
  const int warps = static_cast<int>(blockDim.x) / lanes;
  bool good = true;
  for (int slice = static_cast<int>(threadIdx.x) / lanes; slice * lanes < early.row_bytes; slice += warps) {
    const EarlySlice pairs(early, anchor, slice * lanes, lane);
    good = good && pairs.good;
    if (pairs.good && slice * lanes + lane < early.row_bytes)
      sources[slice * lanes + lane] = pairs.source(early, anchor, slice * lanes + lane);
  }
  return good;
}

// One item: neighbouring segments of one page. Gives the thread's outcome. kEarly: of pages that may have
// early residuals; the others are spared its registers.
template <bool kEarly>
__device__ inline std::uint32_t decode_group(const Batch<ExactDecodePage>& batch, const ExactDecodePage& page,
                                             int group, const ExactScalars& scalars, int* sources,
                                             DecodeShared& shared) {
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int warps = static_cast<int>(blockDim.x) / lanes;
  const LynxLayout layout = layout_of(batch, page);
  const SegmentRange range = segments_of_group(layout, group, warps);
  if (group > 0 && range.first >= range.last) return 0;

  __syncthreads();  // nobody uses the last item's scalars and marks any more
  if (threadIdx.x == 0) shared.outcome = 0;
  __syncthreads();
  if (!scalars.fill(page.anchor, layout, range))
    atomicMax(&shared.outcome, static_cast<std::uint32_t>(PageOutcome::not_finite));
  if (warp == 0 && !read_head(page, layout, range, lane, shared)) atomicMax(&shared.outcome, payload_damaged);
  const EarlyPlace early(layout, kEarly ? page.early_pairs : 0, kEarly ? page.early_rows : 0);
  const ResidualBytes residuals{page.anchor, page.residual, kEarly && early.any() ? sources : nullptr, early};
  if (kEarly && early.any() && !find_sources(early, page.anchor, sources, lane))
    atomicMax(&shared.outcome, payload_damaged);
  __syncthreads();
  if (shared.outcome != 0) return shared.outcome;

  const std::uint32_t outcome = group == 0 ? copy_sinks(page, layout) : 0;
  const int segment = range.first + warp;
  if (segment >= range.last) return outcome;
  bool good;
  if (shared.form == exact_stored) {
    const std::size_t first = static_cast<std::size_t>(segment) * exact_segment_values,
                      left = exact_values(layout) - first;
    good =
        copy_stored(page.payload, reinterpret_cast<unsigned short*>(page.rows) + layout.gmin_at() / 2, first,
                    static_cast<int>(left < exact_segment_values ? left : exact_segment_values), lane);
  } else {
    good = decode_segment(page, layout, range, segment, shared.mark[warp], scalars, residuals, shared.tables,
                          shared.ring(warp), lane);
  }
  return good ? outcome : payload_damaged;
}

template <bool kEarly>
__global__ void __launch_bounds__(decode_warps_limit* lanes)
    decode_exact(const __grid_constant__ Batch<ExactDecodePage> batch,
                 const __grid_constant__ ExactCoding coding, int groups, int staged, int chunks) {
  DecodeShared& shared = *reinterpret_cast<DecodeShared*>(shared_memory());
  shared.tables.fill(coding);
  std::uint32_t* const behind = shared.ring(static_cast<int>(blockDim.x) / lanes);
  const ExactScalars scalars{staged != 0 ? behind : nullptr, behind + batch.channels};
  int* const sources = reinterpret_cast<int*>(behind + ExactScalars::bytes(batch.channels, chunks) /
                                                           4);  // where early residuals need them
  for (int item = static_cast<int>(blockIdx.x); item < batch.pages * groups;
       item += static_cast<int>(gridDim.x)) {
    const int page = item / groups;
    const std::uint32_t outcome =
        decode_group<kEarly>(batch, batch.page[page], item - page * groups, scalars, sources, shared);
    if (outcome != 0) atomicMax(batch.outcomes + page, outcome);
  }
}

}  // namespace

void exact_decode(std::span<const ExactDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                  std::uint32_t* outcomes, StreamHandle stream) {
  for (const ExactDecodePage& page : pages) {
    LYNXKV_CHECK(page.tokens >= 1 && page.tokens <= page_tokens_limit && page.sinks >= 0 &&
                 page.sinks <= page.tokens);
    LYNXKV_CHECK(is_aligned(page.rows, 4) && is_aligned(page.anchor, 4) && is_aligned(page.payload, 4));
  }
  bool early = false;
  for (const ExactDecodePage& page : pages) {
    LYNXKV_CHECK(page.early_pairs <= shape.channels / 2 && page.early_rows <= page.tokens - page.sinks);
    early = early || page.early_pairs > 0 || page.early_rows > 0;
  }
  const ExactCoding used = exact_coding_of(coding);
  for_batches(
      pages, shape.channels, shape.chunk_tokens, outcomes, stream, [&](const Batch<ExactDecodePage>& batch) {
        const ExactGrid cut(tokens_limit(pages), shape,
                            shape.channels > 4096 ? decode_warps_limit : decode_warps_limit / 2);
        const std::size_t fixed =
            sizeof(DecodeShared) + static_cast<std::size_t>(cut.warps) * WordRing::capacity * 4;
        const std::size_t limit = shared_memory_limit("exact_decode"),
                          sources = early ? static_cast<std::size_t>(shape.channels) * 2 : 0;
        const bool staged = fixed + cut.scalar_bytes + sources <= limit;
        if (early && !staged)
          throw Error(ErrorCode::usage, "early residuals on CUDA",
                      "found " + std::to_string(shape.channels) +
                          " channels; their list does not fit into a block's shared memory");
        launch_blocks_of(cut.warps * lanes, early ? decode_exact<true> : decode_exact<false>,
                         batch.pages * cut.groups, fixed + (staged ? cut.scalar_bytes + sources : 0), stream,
                         "exact_decode", batch, used, cut.groups, static_cast<int>(staged), cut.chunks);
      });
}

}  // namespace lynxkv::kernels::cuda
