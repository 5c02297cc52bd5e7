// Plain integers, encode. Per head: a warp takes a token's head in turn and fetches the next one's values while it
// codes this one's. Per channel: a block takes slices, as `lynx` does, and reads a page once.
#include <cuda_runtime.h>

#include "kernels/cuda/codec_launch.cuh"
#include "kernels/cuda/codec_uniform.cuh"
#include "kernels/cuda/shared_memory.cuh"

namespace lynxkv::kernels::cuda {
namespace {

constexpr int head_words = uniform_head_dim_limit / 2 / lanes;  // pairs of a head, of one lane

// A token's head. Pair p of it belongs to lane p % 32.
struct Head {
  int page, token, head;
  bool exists;

  __device__ Head(const Batch<UniformEncodePage>& batch, int heads, int tokens, int item) {
    const int row = item / heads;
    head = item - row * heads;
    page = row / tokens;
    token = row - page * tokens;
    exists = token < batch.page[page].tokens;
  }
};

struct HeadValues {
  std::uint32_t word[head_words];

  __device__ void load(const Batch<UniformEncodePage>& batch, const Head& at, int head_dim, int lane) {
    const std::size_t first = static_cast<std::size_t>(at.token) * static_cast<std::size_t>(batch.channels) + static_cast<std::size_t>(at.head * head_dim);
    const unsigned* from = reinterpret_cast<const unsigned*>(batch.page[at.page].rows + first);
#pragma unroll
    for (int i = 0; i < head_words; ++i) {
      const int pair = i * lanes + lane;
      word[i] = at.exists && pair < head_dim / 2 ? __ldcs(from + pair) : 0;
    }
  }
};

// The head's extremes, in every lane.
__device__ inline void take_head_extremes(const HeadValues& values, int head_dim, int lane, Bf16& least, Bf16& largest) {
  std::uint32_t low = pair_of_infinities, high = pair_of_minus_infinities;
#pragma unroll
  for (int i = 0; i < head_words; ++i) {
    if (i * lanes + lane >= head_dim / 2) continue;
    low = least_of(low, values.word[i]);
    high = largest_of(high, values.word[i]);
  }
  for (int step = 1; step < lanes; step *= 2) {
    low = least_of(low, __shfl_xor_sync(whole_warp, low, step));
    high = largest_of(high, __shfl_xor_sync(whole_warp, high, step));
  }
  least = even_of(least_of(low, low >> 16));
  largest = even_of(largest_of(high, high >> 16));
}

__device__ inline void code_head(const Batch<UniformEncodePage>& batch, const Head& at, const HeadValues& values,
                                 const UniformForm& form, int lane) {
  Bf16 least, largest;
  take_head_extremes(values, form.head_dim, lane, least, largest);
  if (const unsigned outcome = outcome_of(least, largest); outcome != 0) {
    if (lane == 0) atomicMax(batch.outcomes + at.page, outcome);
    return;
  }
  const UniformEncodePage& page = batch.page[at.page];
  const UniformLayout layout = uniform_layout(page.tokens, batch.channels, form);
  const int largest_code = (1 << form.bits) - 1;
  const UniformScale scale = uniform_scale(least, largest, largest_code);
  const UniformTerms terms(scale);
  const int heads = batch.channels / form.head_dim;
  unsigned short* scales = reinterpret_cast<unsigned short*>(page.payload) + at.token * heads + at.head;
  if (lane == 0) {
    __stcs(scales, scale.lo.bits);
    __stcs(scales + layout.groups(), scale.step.bits);
  }
  const std::size_t first = (static_cast<std::size_t>(at.token) * static_cast<std::size_t>(batch.channels) + static_cast<std::size_t>(at.head * form.head_dim)) / 2;
#pragma unroll
  for (int i = 0; i < head_words; ++i) {
    const int pair = i * lanes + lane;
    if (pair >= form.head_dim / 2) continue;
    store_code_pair(page.payload + layout.codes_at(), first + static_cast<std::size_t>(pair), terms.code(even_of(values.word[i]), largest_code),
                    terms.code(odd_of(values.word[i]), largest_code), form.bits);
  }
}

__global__ void __launch_bounds__(block_threads)
    encode_heads(const __grid_constant__ Batch<UniformEncodePage> batch, UniformForm form, int tokens) {
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int heads = batch.channels / form.head_dim;
  const int items = batch.pages * tokens * heads, stride = static_cast<int>(gridDim.x) * block_warps;
  int item = static_cast<int>(blockIdx.x) * block_warps + warp;
  HeadValues next;
  if (item < items) next.load(batch, Head(batch, heads, tokens, item), form.head_dim, lane);
  for (; item < items; item += stride) {
    const HeadValues values = next;
    const Head head(batch, heads, tokens, item);
    if (item + stride < items) next.load(batch, Head(batch, heads, tokens, item + stride), form.head_dim, lane);
    if (head.exists) code_head(batch, head, values, form, lane);
  }
}

// Per channel.
struct ChannelShared {
  alignas(128) std::uint32_t rows[2][page_tokens_limit * slice_pairs];
  std::uint32_t extremes[block_warps * 2 * slice_pairs];  // [32 tokens][least, largest][pairs]
};
constexpr int piece_tokens = page_tokens_limit / block_warps;

// Pair order, one lane for a pair: its scales, whole columns of extremes. Each warp finds them for itself.
struct PairScale {
  UniformScale even, odd;
  unsigned outcome;

  __device__ PairScale(const std::uint32_t* extremes, int pieces, int lane, int largest_code) {
    std::uint32_t least = pair_of_infinities, largest = pair_of_minus_infinities;
    for (int piece = 0; piece < pieces; ++piece) {
      least = least_of(least, extremes[(piece * 2) * slice_pairs + lane]);
      largest = largest_of(largest, extremes[(piece * 2 + 1) * slice_pairs + lane]);
    }
    const unsigned of_even = outcome_of(even_of(least), even_of(largest)), of_odd = outcome_of(odd_of(least), odd_of(largest));
    outcome = of_even > of_odd ? of_even : of_odd;
    even = uniform_scale(even_of(least), even_of(largest), largest_code);
    odd = uniform_scale(odd_of(least), odd_of(largest), largest_code);
  }
};

__device__ inline void code_channels(const Slice& slice, const UniformEncodePage& page, const std::uint32_t* rows,
                                     const std::uint32_t* extremes, const UniformForm& form, std::uint32_t* outcome_word) {
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int channel = slice.first_channel + 2 * lane;
  const UniformLayout layout = uniform_layout(slice.layout.tokens, slice.layout.channels, form);
  const int largest_code = (1 << form.bits) - 1;
  const PairScale scale(extremes, slice.layout.chunks(), lane, largest_code);
  if (warp == 0 && scale.outcome != 0) atomicMax(outcome_word, scale.outcome);
  if (__any_sync(whole_warp, scale.outcome != 0) || channel >= slice.layout.channels) return;
  if (warp == 0) {
    unsigned* scales = reinterpret_cast<unsigned*>(page.payload);
    __stcs(scales + channel / 2, pair_word(scale.even.lo, scale.odd.lo));
    __stcs(scales + (slice.layout.channels + channel) / 2, pair_word(scale.even.step, scale.odd.step));
  }
  const UniformTerms even(scale.even), odd(scale.odd);
  const std::size_t row_pairs = static_cast<std::size_t>(slice.layout.channels / 2);
  for (int token = warp; token < slice.layout.tokens; token += block_warps) {
    const std::uint32_t x = rows[token * slice_pairs + lane];
    store_code_pair(page.payload + layout.codes_at(), static_cast<std::size_t>(token) * row_pairs + static_cast<std::size_t>(channel / 2),
                    even.code(even_of(x), largest_code), odd.code(odd_of(x), largest_code), form.bits);
  }
}

__global__ void __launch_bounds__(block_threads)
    encode_channels(const __grid_constant__ Batch<UniformEncodePage> batch, UniformForm form) {
  ChannelShared& shared = *reinterpret_cast<ChannelShared*>(shared_memory());
  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int items = batch.pages * batch.slices, stride = static_cast<int>(gridDim.x);
  int item = static_cast<int>(blockIdx.x);
  if (item < items) load_slice(Slice(batch, item), shared.rows[0]);
  __pipeline_commit();
  for (int stage = 0; item < items; item += stride, stage ^= 1) {
    if (item + stride < items) load_slice(Slice(batch, item + stride), shared.rows[stage ^ 1]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const Slice slice(batch, item);
    if (warp < slice.layout.chunks()) take_chunk_extremes(slice, shared.rows[stage], warp, lane, shared.extremes);
    __syncthreads();
    code_channels(slice, batch.page[slice.page], shared.rows[stage], shared.extremes, form, batch.outcomes + slice.page);
    __syncthreads();  // before the stage is filled again
  }
}

}  // namespace

void uniform_encode(std::span<const UniformEncodePage> pages, const UniformShape& shape, std::uint32_t* outcomes,
                    StreamHandle stream) {
  const UniformForm form = checked_form(shape);
  check_uniform_pages(pages);
  const int tokens = tokens_limit(pages);
  for_batches(pages, shape.channels, piece_tokens, outcomes, stream, [&](const Batch<UniformEncodePage>& batch) {
    if (shape.per_channel) {
      launch(encode_channels, batch.pages * batch.slices, sizeof(ChannelShared), stream, "uniform_encode", batch, form);
    } else {
      const int items = batch.pages * tokens * (shape.channels / form.head_dim);
      launch(encode_heads, (items + block_warps - 1) / block_warps, 0, stream, "uniform_encode", batch, form, tokens);
    }
  });
}

}  // namespace lynxkv::kernels::cuda
