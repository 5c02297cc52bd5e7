// `lynx` decode, straight into KV pages: a warp takes 32 rows of a slice in turn and fetches the codes of the next 32
// into registers while it writes the values of these. Nothing is read or written twice but the page's scale, which
// each chunk's warp reads for itself.
#include <cuda_runtime.h>

#include "base/check.hpp"
#include "kernels/cuda/bf16_pairs.cuh"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/codec_launch.cuh"
#include "kernels/cuda/early.cuh"
#include "kernels/cuda/shared_memory.cuh"

namespace lynxkv::kernels::cuda {
namespace {

// early_*: of pages that may have early residuals.
enum class Part { draft, full, early_draft, early_full };
constexpr bool reads_residuals(Part part) { return part != Part::draft; }
constexpr bool is_early(Part part) { return part == Part::early_draft || part == Part::early_full; }

// What decoding looks up. A kernel parameter; the block copies it to shared memory.
template <Part kPart>
struct DecodeTables {
  float magnitude[reads_residuals(kPart) ? 256 : 16];  // signed, by both nibbles (anchor high) or the anchor's
  float scalar[256];                                // by sg8
};

// Of each channel of a warp's slice.
struct DecodeTerms {
  float sg[slice_channels], mu[slice_channels], gscale[slice_channels], gmin[slice_channels];
};

template <Part kPart>
struct DecodeShared {
  DecodeTables<kPart> tables;
  float centre[256];  // by mu8
  alignas(16) DecodeTerms terms[block_warps];
};

constexpr int group_tokens = 32;
constexpr int group_rows = group_tokens / rows_at_once;  // of one lane

// 32 rows or fewer of one chunk of one slice, and how this lane stands to them.
struct Group {
  const LynxDecodePage* page;
  LynxLayout layout;
  int index;  // of the page
  int chunk, first, last;       // tokens; empty where the page has no such chunk
  int channel, there;           // block order: the lane's first channel, and how many of its eight exist
  int pair_channel;             // pair order: the even one

  __device__ Group(const Batch<LynxDecodePage>& batch, int chunks, int groups, int item, int lane) {
    const int slice = item / (chunks * groups), within = item - slice * chunks * groups;
    index = slice / batch.slices;
    page = &batch.page[index];
    layout.tokens = page->tokens;
    layout.channels = batch.channels;
    layout.sinks = page->sinks;
    layout.chunk_tokens = batch.chunk_tokens;
    chunk = within / groups;
    first = chunk * layout.chunk_tokens + (within - chunk * groups) * group_tokens;
    const int chunk_end = (chunk + 1) * layout.chunk_tokens, group_end = first + group_tokens;
    last = group_end < chunk_end ? group_end : chunk_end;
    last = last < layout.tokens ? last : layout.tokens;
    const int first_channel = (slice - index * batch.slices) * slice_channels;
    channel = first_channel + lane % lanes_across * block_channels;
    there = layout.channels - channel;
    pair_channel = first_channel + 2 * lane;
  }
  __device__ int token(int row, int lane) const { return first + row * rows_at_once + lane / lanes_across; }
};

// Where a lane's four residual bytes of a row come from.
template <Part kPart>
struct EarlyResiduals {
  __device__ EarlyResiduals(const Group&, int) {}
  __device__ bool list_is_good() const { return true; }
};

template <Part kPart>
  requires(is_early(kPart))
struct EarlyResiduals<kPart> {
  EarlyPlace place;
  int source[block_channels / 2];
  bool good;

  // The whole warp.
  __device__ EarlyResiduals(const Group& group, int lane) : place(group.layout, group.page->early_pairs, group.page->early_rows) {
    const EarlySlice slice(place, group.page->anchor, group.pair_channel / 2 - lane, lane);
    good = slice.good;
    for (int i = 0; i < block_channels / 2; ++i)
      source[i] = good && 2 * i < group.there ? slice.source(place, group.page->anchor, group.channel / 2 + i) : 0;
  }
  __device__ bool list_is_good() const { return good; }

  __device__ std::uint32_t load(const Group& group, int row, std::uint32_t anchor_codes) const {
    if (row >= place.mixed_rows() && place.rows > 0)
      return load_nibbles(group.page->anchor + place.row_at(row) + group.channel / 2, group.there, false);
    std::uint32_t codes = kPart == Part::early_draft ? draft_residuals(anchor_codes) : 0;
#pragma unroll
    for (int i = 0; i < block_channels / 2; ++i) {
      if (2 * i >= group.there || (kPart == Part::early_draft && source[i] >= 0)) continue;
      const std::byte* at = source[i] < 0 ? group.page->anchor + place.pair_at(row, ~source[i])
                                          : group.page->residual + static_cast<std::size_t>(row) * static_cast<std::size_t>(place.kept()) + source[i];
      codes = (codes & ~(0xffu << (8 * i))) | static_cast<std::uint32_t>(__ldcs(reinterpret_cast<const unsigned char*>(at))) << (8 * i);
    }
    return codes;
  }
};

// A lane's codes of a group, and the scalars of its pair.
template <Part kPart>
struct Codes {
  std::uint32_t anchor[group_rows];
  std::uint32_t residual[reads_residuals(kPart) ? group_rows : 1];
  std::uint32_t gmin, gscale;  // pairs
  std::uint32_t mu8, sg8;      // two bytes
  bool list_is_good;           // of early residuals

  // The whole warp.
  __device__ void load(const Group& group, int lane) {
    const LynxLayout& layout = group.layout;
    gmin = gscale = mu8 = sg8 = 0;
    list_is_good = true;
    if (group.first >= group.last) return;
    const std::byte* payload = group.page->anchor;
    if (group.pair_channel < layout.channels) {
      const std::size_t channel = static_cast<std::size_t>(group.pair_channel);
      const std::size_t at = static_cast<std::size_t>(group.chunk) * static_cast<std::size_t>(layout.channels) + channel;
      gmin = __ldg(reinterpret_cast<const unsigned int*>(payload + layout.gmin_at() + channel * 2));
      gscale = __ldg(reinterpret_cast<const unsigned int*>(payload + layout.gscale_at() + channel * 2));
      mu8 = __ldg(reinterpret_cast<const unsigned short*>(payload + layout.mu8_at() + at));
      sg8 = __ldg(reinterpret_cast<const unsigned short*>(payload + layout.sg8_at() + at));
    }
    const std::size_t nibbles_at = layout.nibbles_at(), row_nibbles = static_cast<std::size_t>(layout.channels / 2);
    const bool words = layout.channels % block_channels == 0;
    const bool residual_words = words && kPart == Part::full && is_aligned(group.page->residual, 4);
    const EarlyResiduals<kPart> early(group, lane);
    list_is_good = early.list_is_good();
    if (!list_is_good) return;
#pragma unroll
    for (int row = 0; row < group_rows; ++row) {
      const int token = group.token(row, lane);
      const bool coded = token >= layout.sinks && token < group.last && group.there > 0;
      const std::size_t at = static_cast<std::size_t>(token - layout.sinks) * row_nibbles + static_cast<std::size_t>(group.channel / 2);
      anchor[row] = coded ? load_nibbles(payload + nibbles_at + at, group.there, words) : 0;
      if constexpr (kPart == Part::full)
        residual[row] = coded ? load_nibbles(group.page->residual + at, group.there, residual_words) : 0;
      if constexpr (is_early(kPart)) residual[row] = coded ? early.load(group, token - layout.sinks, anchor[row]) : 0;
    }
  }
};

// Eight values of a row as four pairs.
struct RowValues {
  std::uint32_t word[block_channels / 2];
};

__device__ inline void store_row(Bf16* at, const RowValues& values, int there, bool wide) {
  if (wide) {
    __stcs(reinterpret_cast<uint4*>(at), make_uint4(values.word[0], values.word[1], values.word[2], values.word[3]));
    return;
  }
  for (int i = 0; i < block_channels / 2; ++i)
    if (2 * i < there) __stcs(reinterpret_cast<unsigned int*>(at) + i, values.word[i]);
}

// Gives whether all of it is finite.
__device__ inline bool load_sink(const std::byte* at, RowValues& values, int there) {
  bool finite = true;
  for (int i = 0; i < block_channels / 2; ++i) {
    values.word[i] = 2 * i < there ? __ldcs(reinterpret_cast<const unsigned int*>(at) + i) : 0;
    finite = finite && is_finite(even_of(values.word[i])) && is_finite(odd_of(values.word[i]));
  }
  return finite;
}

// A lane's eight channels, from the warp's terms.
struct LaneTerms {
  float sg[block_channels], mu[block_channels], gscale[block_channels], gmin[block_channels];

  __device__ LaneTerms(const DecodeTerms& terms, int first) {
    copy(sg, terms.sg + first);
    copy(mu, terms.mu + first);
    copy(gscale, terms.gscale + first);
    copy(gmin, terms.gmin + first);
  }

 private:
  __device__ static void copy(float* to, const float* from) {
    const float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
  }
};

__device__ inline float decoded(float magnitude, const LaneTerms& terms, int c) {
  const float d = magnitude * terms.sg[c];
  const float xn = d + terms.mu[c];
  const float x = xn * terms.gscale[c];
  return x + terms.gmin[c];
}

template <Part kPart>
__device__ inline RowValues decode_row(std::uint32_t anchor, std::uint32_t residual, const DecodeTables<kPart>& tables,
                                       const LaneTerms& terms) {
  // Bytes that index the table: channels 0, 2, 4, 6 in `even`, 1, 3, 5, 7 in `odd`.
  std::uint32_t even = anchor & 0x0f0f0f0fu, odd = anchor >> 4 & 0x0f0f0f0fu;
  if constexpr (reads_residuals(kPart)) {
    even = even << 4 | (residual & 0x0f0f0f0fu);
    odd = odd << 4 | (residual >> 4 & 0x0f0f0f0fu);
  }
  RowValues values;
#pragma unroll
  for (int i = 0; i < block_channels / 2; ++i) {
    const float low = decoded(tables.magnitude[even >> (8 * i) & 0xffu], terms, 2 * i);
    const float high = decoded(tables.magnitude[odd >> (8 * i) & 0xffu], terms, 2 * i + 1);
    values.word[i] = rounded_pair(low, high);
  }
  return values;
}

// Pair order: the scalars of the group's chunk to the warp's terms. False where gmin or gscale is not finite.
template <Part kPart>
__device__ inline bool keep_terms(const Codes<kPart>& codes, const DecodeShared<kPart>& shared, int lane, DecodeTerms& terms) {
  const int even = 2 * lane, odd = 2 * lane + 1;
  terms.gmin[even] = even_value(codes.gmin), terms.gmin[odd] = odd_value(codes.gmin);
  terms.gscale[even] = even_value(codes.gscale), terms.gscale[odd] = odd_value(codes.gscale);
  terms.mu[even] = shared.centre[codes.mu8 & 0xffu], terms.mu[odd] = shared.centre[codes.mu8 >> 8];
  terms.sg[even] = shared.tables.scalar[codes.sg8 & 0xffu], terms.sg[odd] = shared.tables.scalar[codes.sg8 >> 8];
  return is_finite(even_of(codes.gmin)) && is_finite(odd_of(codes.gmin)) && is_finite(even_of(codes.gscale)) &&
         is_finite(odd_of(codes.gscale));
}

// One warp, block order: the group's rows. False where a sink of this lane is not finite.
template <Part kPart>
__device__ inline bool decode_group(const Group& group, const Codes<kPart>& codes, int lane,
                                    const DecodeTables<kPart>& tables, const DecodeTerms& warp_terms) {
  if (group.there <= 0) return true;
  const LaneTerms terms(warp_terms, lane % lanes_across * block_channels);
  const LynxLayout& layout = group.layout;
  const bool wide = layout.channels % block_channels == 0 && is_aligned(group.page->rows, 16);
  bool finite = true;
#pragma unroll
  for (int row = 0; row < group_rows; ++row) {
    const int token = group.token(row, lane);
    if (token >= group.last) break;
    const std::size_t at = static_cast<std::size_t>(token) * static_cast<std::size_t>(layout.channels) + static_cast<std::size_t>(group.channel);
    RowValues values;
    if (token < layout.sinks)
      finite = load_sink(group.page->anchor + at * sizeof(Bf16), values, group.there) && finite;
    else
      values = decode_row<kPart>(codes.anchor[row], codes.residual[reads_residuals(kPart) ? row : 0], tables, terms);
    store_row(group.page->rows + at, values, group.there, wide);
  }
  return finite;
}

template <Part kPart>
__global__ void __launch_bounds__(block_threads, 2)
    decode_pages(const __grid_constant__ Batch<LynxDecodePage> batch, const __grid_constant__ DecodeTables<kPart> given,
                 int chunks, int groups) {
  DecodeShared<kPart>& shared = *reinterpret_cast<DecodeShared<kPart>*>(shared_memory());
  copy_words(&shared.tables, &given, sizeof(DecodeTables<kPart>));
  for (unsigned i = threadIdx.x; i < 256; i += block_threads) shared.centre[i] = lynx_centre_value(static_cast<std::uint8_t>(i));
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int items = batch.pages * batch.slices * chunks * groups, stride = static_cast<int>(gridDim.x) * block_warps;
  int item = static_cast<int>(blockIdx.x) * block_warps + warp;
  Codes<kPart> next;
  if (item < items) next.load(Group(batch, chunks, groups, item, lane), lane);
  for (; item < items; item += stride) {
    const Codes<kPart> codes = next;
    const Group group(batch, chunks, groups, item, lane);
    if (item + stride < items) next.load(Group(batch, chunks, groups, item + stride, lane), lane);
    if (group.first >= group.last) continue;
    if (!codes.list_is_good) {
      if (lane == 0) atomicMax(batch.outcomes + group.index, payload_damaged);
      continue;
    }
    const bool scale_is_finite = __all_sync(whole_warp, keep_terms(codes, shared, lane, shared.terms[warp])) != 0;
    __syncwarp();
    const bool rows_are_finite = !scale_is_finite || decode_group(group, codes, lane, shared.tables, shared.terms[warp]);
    if (!scale_is_finite || !rows_are_finite)
      atomicMax(batch.outcomes + group.index, static_cast<unsigned>(PageOutcome::not_finite));
    __syncwarp();  // before the next group's terms
  }
}

template <Part kPart>
DecodeTables<kPart> tables_of(const LynxCoding& coding) {
  DecodeTables<kPart> tables;
  if constexpr (reads_residuals(kPart))
    memcpy(tables.magnitude, coding.signed_level, sizeof tables.magnitude);
  else
    memcpy(tables.magnitude, coding.signed_draft, sizeof tables.magnitude);
  memcpy(tables.scalar, coding.tables.scalar, sizeof tables.scalar);
  return tables;
}

template <Part kPart>
void decode(std::span<const LynxDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
            std::uint32_t* outcomes, StreamHandle stream, const char* name) {
  for (const LynxDecodePage& page : pages) {
    LYNXKV_CHECK(page.tokens >= 1 && page.tokens <= page_tokens_limit && page.sinks >= 0 && page.sinks <= page.tokens);
    LYNXKV_CHECK(is_aligned(page.rows, 4) && is_aligned(page.anchor, 4));
    LYNXKV_CHECK(kPart == Part::draft || kPart == Part::early_draft || page.residual != nullptr || page.sinks == page.tokens);
    LYNXKV_CHECK(page.early_pairs >= 0 && page.early_pairs <= shape.channels / 2 && page.early_rows >= 0 && page.early_rows <= page.tokens - page.sinks);
  }
  const DecodeTables<kPart> tables = tables_of<kPart>(coding);
  const int chunks = chunks_limit(pages, shape.chunk_tokens);
  const int groups = (shape.chunk_tokens + group_tokens - 1) / group_tokens;
  for_batches(pages, shape.channels, shape.chunk_tokens, outcomes, stream, [&](const Batch<LynxDecodePage>& batch) {
    const int blocks = (batch.pages * batch.slices * chunks * groups + block_warps - 1) / block_warps;
    launch(decode_pages<kPart>, blocks, sizeof(DecodeShared<kPart>), stream, name, batch, tables, chunks, groups);
  });
}

bool any_early(std::span<const LynxDecodePage> pages) {
  for (const LynxDecodePage& page : pages)
    if (page.early_pairs > 0 || page.early_rows > 0) return true;
  return false;
}

}  // namespace

void lynx_decode_draft(std::span<const LynxDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                       std::uint32_t* outcomes, StreamHandle stream) {
  (any_early(pages) ? decode<Part::early_draft> : decode<Part::draft>)(pages, shape, coding, outcomes, stream, "lynx_decode_draft");
}

void lynx_decode_full(std::span<const LynxDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                      std::uint32_t* outcomes, StreamHandle stream) {
  (any_early(pages) ? decode<Part::early_full> : decode<Part::full>)(pages, shape, coding, outcomes, stream, "lynx_decode_full");
}

}  // namespace lynxkv::kernels::cuda
