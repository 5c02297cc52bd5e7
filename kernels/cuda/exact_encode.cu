// The exact stream, encoded: a block takes a page, a warp a segment of it at a time, from its last value to
// its first. A segment's words wait in shared memory until the block knows where it begins, so nothing is
// written twice; one that does not fit there is coded a second time, straight to its place.
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

constexpr int encode_warps_limit = 8;
constexpr int kept_words = 3584,
              kept_extras = 1024;  // of a segment, in shared memory: 4.5 bits a value, real KV takes 2.4

struct SegmentCounts {
  std::uint32_t words, extras;
};

// Behind it in shared memory: for each warp kept_words and kept_extras, then scales and codes of
// ExactScalars.
struct EncodeShared {
  ExactBlockTables tables;
  SegmentCounts counts[encode_warps_limit];
  std::uint32_t outcome;

  __device__ unsigned short* kept(int warp) {
    return reinterpret_cast<unsigned short*>(this + 1) + warp * (kept_words + kept_extras);
  }
};

// Where words and extras of a segment go, from the last to the first; both tops move down.
struct SegmentSink {
  unsigned short* words;
  unsigned short* extras;
  int word_top, extra_top;
  bool shared;  // memory that may be too small, or the payload, where there is room for all

  __device__ void put(unsigned short* to, int at, std::uint32_t value) const {
    if (!shared)
      __stcs(to + at, static_cast<unsigned short>(value));
    else if (at >= 0)
      to[at] = static_cast<unsigned short>(value);
  }
  // The whole warp: the lanes that have a word or an extra put it down, in the order of lanes.
  __device__ void put_word(bool has_one, std::uint32_t word, unsigned lanes_below) {
    const unsigned givers = __ballot_sync(whole_warp, has_one);
    word_top -= __popc(givers);
    if (has_one) put(words, word_top + __popc(givers & lanes_below), word);
  }
  __device__ void put_extra(bool has_one, std::uint32_t bits, unsigned lanes_below) {
    const unsigned givers = __ballot_sync(whole_warp, has_one);
    extra_top -= __popc(givers);
    if (has_one) put(extras, extra_top + __popc(givers & lanes_below), bits);
  }
};

// What encoding a segment needs to know of its page.
struct EncodePlace {
  const ExactEncodePage& page;
  const LynxLayout& layout;
  const SegmentRange& range;
  const ExactScalars& scalars;
  const ExactBlockTables& tables;
};

// The lane's value goes into its state; only lanes that are `active` have one.
__device__ inline void encode_value(std::uint32_t& state, ExactCell cell, std::uint16_t bits, bool active,
                                    const ExactBlockTables& tables, SegmentSink& sink, unsigned lanes_below) {
  const bool wide = cell.count > exact_widest_cell, coded = active && !wide;
  std::uint32_t share = tables.share[wide ? exact_widest_cell : cell.count].share;
  const auto count = static_cast<std::uint32_t>(cell.count),
             member = static_cast<std::uint32_t>(exact_ordinal(Bf16{bits}) - cell.first);
  const bool none = coded && member >= count;
  const std::uint32_t start = (none ? count : member) * share;
  if (none) share = exact_slots - start;
  sink.put_extra(active && (wide || none), bits, lanes_below);
  const bool full = coded && state >> 18 >= share;
  sink.put_word(full, state, lanes_below);
  if (full) state >>= 16;
  if (coded) {
    const std::uint32_t quotient = state / share;
    state = (quotient << exact_slot_bits) + (state - quotient * share) + start;
  }
}

// One warp: a whole segment. Gives the lane's state.
__device__ inline std::uint32_t encode_segment(const EncodePlace& place, int segment, int lane,
                                               SegmentSink& sink) {
  const std::size_t first = static_cast<std::size_t>(segment) * exact_segment_values,
                    left = exact_values(place.layout) - first;
  const int values = static_cast<int>(left < exact_segment_values ? left : exact_segment_values);
  const int steps = (values + lanes - 1) / lanes,
            tiles = (values + exact_tile_values - 1) / exact_tile_values;
  const std::byte* anchor_nibbles = place.page.anchor + place.layout.nibbles_at();
  const auto* rows =
      reinterpret_cast<const unsigned short*>(place.page.rows) + place.layout.gmin_at() / 2 + first;
  ExactCursor cursor(place.page.anchor, place.layout, place.scalars, place.range.first_chunk,
                     first + static_cast<std::size_t>((steps - 1) * lanes + lane));
  const unsigned lanes_below = (1u << lane) - 1;
  std::uint32_t state = exact_state_floor;
  const auto load = [&](NibbleTile& tile, int index) {
    const int from = index * exact_tile_values;
    tile.load(anchor_nibbles,
              {place.page.anchor, place.page.residual, nullptr, EarlyPlace(place.layout, 0, 0)},
              first + static_cast<std::size_t>(from), values - from, lane);
  };
  NibbleTile next;
  load(next, tiles - 1);
  for (int tile = tiles - 1; tile >= 0; --tile) {
    const NibbleTile codes = next;
    if (tile > 0) load(next, tile - 1);
    const int last = steps - tile * exact_tile_steps < exact_tile_steps ? steps - tile * exact_tile_steps
                                                                        : exact_tile_steps;
    for (int step = last - 1; step >= 0; --step, cursor.retreat()) {
      const int value = tile * exact_tile_values + step * lanes + lane, nibbles = codes.of_step(step, lane);
      const bool active = value < values;
      const ExactCell cell = active ? cursor.cell(nibbles, place.tables) : ExactCell{0, 1};
      const std::uint16_t bits = active ? __ldcs(rows + value) : static_cast<std::uint16_t>(0);
      encode_value(state, cell, bits, active, place.tables, sink, lanes_below);
    }
  }
  return state;
}

// One warp: a segment's part of the payload, from shared memory or, where that was too small, coded again.
__device__ inline void write_segment(const EncodePlace& place, int segment, int lane,
                                     const SegmentCounts& counts, const unsigned short* kept,
                                     std::uint32_t state, std::size_t at) {
  auto* states = reinterpret_cast<unsigned short*>(place.page.payload + at) + 2 * lane;
  __stcs(states, static_cast<unsigned short>(state));
  __stcs(states + 1, static_cast<unsigned short>(state >> 16));
  auto* words = reinterpret_cast<unsigned short*>(place.page.payload + at + exact_states_bytes);
  unsigned short* extras = words + counts.words;
  if (lane == 0) {
    auto* head = reinterpret_cast<unsigned int*>(place.page.payload + exact_form_bytes) + 2 * segment;
    __stcs(head, counts.words);
    __stcs(head + 1, counts.extras);
  }
  if (counts.words > kept_words || counts.extras > kept_extras) {
    SegmentSink sink{words, extras, static_cast<int>(counts.words), static_cast<int>(counts.extras), false};
    encode_segment(place, segment, lane, sink);
    return;
  }
  for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < counts.words; i += lanes)
    __stcs(words + i, kept[kept_words - counts.words + i]);
  for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < counts.extras; i += lanes)
    __stcs(extras + i, kept[kept_words + kept_extras - counts.extras + i]);
}

// The block: values as they are.
__device__ inline void write_stored(const ExactEncodePage& page, const LynxLayout& layout) {
  const auto* from = reinterpret_cast<const unsigned int*>(page.rows) + layout.gmin_at() / 4;
  auto* to = reinterpret_cast<unsigned int*>(page.payload + exact_form_bytes);
  for (std::size_t i = threadIdx.x; i < exact_values(layout) / 2; i += blockDim.x)
    __stcs(to + i, __ldcs(from + i));
}

// The block: one round of segments, and how many bytes the payload has behind them; 0 where a scale is not
// finite.
__device__ inline std::uint32_t encode_range(const EncodePlace& place, std::uint32_t bytes,
                                             std::uint32_t bound, EncodeShared& shared) {
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  if (!place.scalars.fill(place.page.anchor, place.layout, place.range))
    atomicMax(&shared.outcome, static_cast<std::uint32_t>(PageOutcome::not_finite));
  __syncthreads();
  if (shared.outcome != 0) return 0;
  const int segment = place.range.first + warp;
  unsigned short* const kept = shared.kept(warp);
  SegmentSink sink{kept, kept + kept_words, kept_words, kept_extras, true};
  std::uint32_t state = 0;
  if (segment < place.range.last) {
    state = encode_segment(place, segment, lane, sink);
    if (lane == 0)
      shared.counts[warp] = {static_cast<std::uint32_t>(kept_words - sink.word_top),
                             static_cast<std::uint32_t>(kept_extras - sink.extra_top)};
  }
  __syncthreads();
  std::uint32_t at = 0;
  for (int i = 0; i < place.range.last - place.range.first; ++i) {
    if (i == warp) at = bytes;
    bytes += static_cast<std::uint32_t>(exact_states_bytes) +
             2 * (shared.counts[i].words + shared.counts[i].extras);
  }
  if (bytes < bound && segment < place.range.last)
    write_segment(place, segment, lane, shared.counts[warp], kept, state, at);
  return bytes;
}

// The block: one page.
__device__ inline void encode_page(const ExactEncodePage& page, const LynxLayout& layout,
                                   const ExactScalars& scalars, EncodeShared& shared, std::uint32_t* size,
                                   std::uint32_t* outcome) {
  const std::size_t values = exact_values(layout);
  const int segments = exact_segments(values), warps = static_cast<int>(blockDim.x) / lanes;
  const auto bound = static_cast<std::uint32_t>(values == 0 ? 0 : exact_form_bytes + values * 2);
  std::uint32_t bytes = values == 0
                            ? 0
                            : static_cast<std::uint32_t>(
                                  exact_form_bytes + static_cast<std::size_t>(segments) * exact_counts_bytes);
  for (int group = 0; group * warps < segments && bytes < bound; ++group) {
    __syncthreads();  // nobody uses the last round's scalars and words any more
    if (threadIdx.x == 0) shared.outcome = 0;
    __syncthreads();
    const SegmentRange range = segments_of_group(layout, group, warps);
    bytes = encode_range({page, layout, range, scalars, shared.tables}, bytes, bound, shared);
    if (bytes != 0) continue;
    if (threadIdx.x == 0) atomicMax(outcome, static_cast<std::uint32_t>(PageOutcome::not_finite));
    break;
  }
  const bool stored = bytes >= bound;
  if (stored) write_stored(page, layout);
  if (threadIdx.x != 0) return;
  if (bytes != 0 && values != 0)
    __stcs(reinterpret_cast<unsigned int*>(page.payload), stored ? exact_stored : exact_coded);
  __stcs(size, stored ? bound : bytes);
}

__global__ void __launch_bounds__(encode_warps_limit* lanes)
    encode_exact(const __grid_constant__ Batch<ExactEncodePage> batch,
                 const __grid_constant__ ExactCoding coding, std::uint32_t* sizes, int staged) {
  EncodeShared& shared = *reinterpret_cast<EncodeShared*>(shared_memory());
  shared.tables.fill(coding);
  auto* const behind = reinterpret_cast<std::uint32_t*>(shared.kept(static_cast<int>(blockDim.x) / lanes));
  const ExactScalars scalars{staged != 0 ? behind : nullptr, behind + batch.channels};
  for (int index = static_cast<int>(blockIdx.x); index < batch.pages; index += static_cast<int>(gridDim.x)) {
    const ExactEncodePage& page = batch.page[index];
    LynxLayout layout;
    layout.tokens = page.tokens;
    layout.channels = batch.channels;
    layout.sinks = page.sinks;
    layout.chunk_tokens = batch.chunk_tokens;
    encode_page(page, layout, scalars, shared, sizes + index, batch.outcomes + index);
  }
}

}  // namespace

void exact_encode(std::span<const ExactEncodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                  std::uint32_t* sizes, std::uint32_t* outcomes, StreamHandle stream) {
  for (const ExactEncodePage& page : pages) {
    LYNXKV_CHECK(page.tokens >= 1 && page.tokens <= page_tokens_limit && page.sinks >= 0 &&
                 page.sinks <= page.tokens);
    LYNXKV_CHECK(is_aligned(page.rows, 4) && is_aligned(page.anchor, 4) && is_aligned(page.payload, 4));
  }
  const ExactCoding used = exact_coding_of(coding);
  for_batches(
      pages, shape.channels, shape.chunk_tokens, outcomes, stream, [&](const Batch<ExactEncodePage>& batch) {
        const ExactGrid cut(tokens_limit(pages), shape, encode_warps_limit);
        const std::size_t fixed =
            sizeof(EncodeShared) + static_cast<std::size_t>(cut.warps) * (kept_words + kept_extras) * 2;
        const bool staged = fixed + cut.scalar_bytes <= shared_memory_limit("exact_encode");
        launch_blocks_of(cut.warps * lanes, encode_exact, batch.pages,
                         fixed + (staged ? cut.scalar_bytes : 0), stream, "exact_encode", batch, used,
                         sizes + (batch.outcomes - outcomes), static_cast<int>(staged));
      });
}

}  // namespace lynxkv::kernels::cuda
