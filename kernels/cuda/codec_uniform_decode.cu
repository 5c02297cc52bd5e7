// Plain integers, decode: a thread takes eight channels of a row where rows and heads come in eights, two otherwise.
#include <cuda_runtime.h>

#include "kernels/cuda/codec_launch.cuh"
#include "kernels/cuda/codec_uniform.cuh"

namespace lynxkv::kernels::cuda {
namespace {

// The codes of kChannels values, even channel low, as they lie in the payload.
template <int kChannels>
struct CodeWords {
  std::uint32_t word[2];

  __device__ void load(const std::byte* codes, std::size_t first_value, int bits) {
    const std::byte* at = codes + first_value * static_cast<std::size_t>(bits) / 8;
    word[1] = 0;
    if constexpr (kChannels == 2) {
      word[0] = bits == 8 ? __ldcs(reinterpret_cast<const unsigned short*>(at)) : __ldcs(reinterpret_cast<const unsigned char*>(at));
    } else {
      word[0] = __ldcs(reinterpret_cast<const unsigned*>(at));
      if (bits == 8) word[1] = __ldcs(reinterpret_cast<const unsigned*>(at) + 1);
    }
  }
  __device__ int code(int i, int bits) const {
    const int at = i * bits;
    return static_cast<int>(word[at / 32] >> at % 32 & ((1u << bits) - 1));
  }
};

__device__ inline Bf16 scale_at(const std::byte* payload, std::size_t index) {
  return Bf16{__ldg(reinterpret_cast<const unsigned short*>(payload) + index)};
}

// The scales of kChannels values side by side: one for each, or the head's.
template <int kChannels>
struct Scales {
  float lo[kChannels], step[kChannels];
  bool finite = true;

  __device__ Scales(const std::byte* payload, std::size_t groups, std::size_t group, bool one_each) {
#pragma unroll
    for (int i = 0; i < kChannels; ++i) {
      if (i > 0 && !one_each) {
        lo[i] = lo[0];
        step[i] = step[0];
        continue;
      }
      const Bf16 least = scale_at(payload, group + static_cast<std::size_t>(i)), width = scale_at(payload, groups + group + static_cast<std::size_t>(i));
      finite = finite && is_finite(least) && is_finite(width);
      lo[i] = to_float(least);
      step[i] = to_float(width);
    }
  }
};

template <int kChannels>
__device__ inline void decode_values(const UniformDecodePage& page, std::size_t codes_at, std::size_t first, int bits,
                                     const Scales<kChannels>& scales) {
  CodeWords<kChannels> codes;
  codes.load(page.payload + codes_at, first, bits);
  std::uint32_t values[4] = {};
#pragma unroll
  for (int i = 0; i < kChannels; i += 2)
    values[i / 2] = pair_word(uniform_value(codes.code(i, bits), scales.lo[i], scales.step[i]),
                              uniform_value(codes.code(i + 1, bits), scales.lo[i + 1], scales.step[i + 1]));
  if constexpr (kChannels == 8)
    __stcs(reinterpret_cast<uint4*>(page.rows + first), make_uint4(values[0], values[1], values[2], values[3]));
  else
    __stcs(reinterpret_cast<unsigned*>(page.rows + first), values[0]);
}

// Rows that a thread goes down: with scales per channel it keeps them, per head each row has its own.
constexpr int rows_per_channel_scales = 32;

template <int kChannels>
__global__ void __launch_bounds__(block_threads)
    decode_integers(const __grid_constant__ Batch<UniformDecodePage> batch, UniformForm form, int steps) {
  const int across = batch.channels / kChannels, rows = form.per_channel ? rows_per_channel_scales : 1;
  const int items = batch.pages * steps * across, stride = static_cast<int>(gridDim.x) * block_threads;
  for (int item = static_cast<int>(blockIdx.x) * block_threads + static_cast<int>(threadIdx.x); item < items; item += stride) {
    const int step = item / across, index = step / steps, channel = (item - step * across) * kChannels;
    const UniformDecodePage& page = batch.page[index];
    const int from = (step - index * steps) * rows, to = from + rows < page.tokens ? from + rows : page.tokens;
    if (from >= to) continue;
    const UniformLayout layout = uniform_layout(page.tokens, batch.channels, form);
    const int group = form.per_channel ? channel : from * (batch.channels / form.head_dim) + channel / form.head_dim;
    const Scales<kChannels> scales(page.payload, layout.groups(), static_cast<std::size_t>(group), form.per_channel);
    if (!scales.finite) {
      atomicMax(batch.outcomes + index, static_cast<unsigned>(PageOutcome::not_finite));
      continue;
    }
    for (int token = from; token < to; ++token) {
      const std::size_t first = static_cast<std::size_t>(token) * static_cast<std::size_t>(batch.channels) + static_cast<std::size_t>(channel);
      decode_values<kChannels>(page, layout.codes_at(), first, form.bits, scales);
    }
  }
}

bool in_eights(std::span<const UniformDecodePage> pages, const UniformShape& shape, const UniformForm& form) {
  bool eights = shape.channels % 8 == 0 && (form.per_channel || form.head_dim % 8 == 0);
  for (const UniformDecodePage& page : pages) eights = eights && is_aligned(page.rows, 16);
  return eights;
}

}  // namespace

void uniform_decode(std::span<const UniformDecodePage> pages, const UniformShape& shape, std::uint32_t* outcomes,
                    StreamHandle stream) {
  const UniformForm form = checked_form(shape);
  check_uniform_pages(pages);
  const int tokens = tokens_limit(pages);
  const int steps = form.per_channel ? (tokens + rows_per_channel_scales - 1) / rows_per_channel_scales : tokens;
  const bool eights = in_eights(pages, shape, form);
  for_batches(pages, shape.channels, page_tokens_limit, outcomes, stream, [&](const Batch<UniformDecodePage>& batch) {
    const int items = batch.pages * steps * (shape.channels / (eights ? 8 : 2));
    launch(eights ? decode_integers<8> : decode_integers<2>, (items + block_threads - 1) / block_threads, 0, stream,
           "uniform_decode", batch, form, steps);
  });
}

}  // namespace lynxkv::kernels::cuda
