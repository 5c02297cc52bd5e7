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
    return static_cast<int>((at < 32 ? word[0] : word[1]) >> at % 32 & ((1u << bits) - 1));  // words stay in registers
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

  // One for each, from `group` on.
  __device__ Scales(const std::byte* payload, std::size_t groups, std::size_t group) {
#pragma unroll
    for (int i = 0; i < kChannels; ++i) {
      const std::size_t at = group + static_cast<std::size_t>(i);
      set(i, scale_at(payload, at), scale_at(payload, groups + at));
    }
  }
  // pair: the head's lo and step.
  __device__ explicit Scales(std::uint32_t pair) {
#pragma unroll
    for (int i = 0; i < kChannels; ++i) set(i, even_of(pair), odd_of(pair));
  }

 private:
  __device__ void set(int i, Bf16 least, Bf16 width) {
    finite = finite && is_finite(least) && is_finite(width);
    lo[i] = to_float(least);
    step[i] = to_float(width);
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

// What a thread decodes: kChannels channels from `channel` on, of rows `from` to `to`.
template <int kChannels>
struct Stretch {
  int page, from, to, channel;  // empty where from >= to

  __device__ Stretch(const Batch<UniformDecodePage>& batch, int items, int steps, int rows, int item) {
    const int across = batch.channels / kChannels, step = item / across;
    page = item < items ? step / steps : 0;
    channel = (item - step * across) * kChannels;
    from = (step - page * steps) * rows;
    to = from + rows < batch.page[page].tokens ? from + rows : batch.page[page].tokens;
    if (item >= items) to = from = 0;
  }
  __device__ bool empty() const { return from >= to; }
};

// Lanes beside each other lie in one head: the first of them reads its scale for all. The whole warp comes here.
template <int kChannels>
__device__ inline std::uint32_t head_scale(const Batch<UniformDecodePage>& batch, const Stretch<kChannels>& at, const UniformForm& form, int lane) {
  const int before = at.channel % form.head_dim / kChannels, reader = before < lane ? lane - before : 0;
  std::uint32_t pair = 0;
  if (reader == lane && !at.empty()) {
    const UniformDecodePage& page = batch.page[at.page];
    const std::size_t groups = uniform_layout(page.tokens, batch.channels, form).groups();
    const std::size_t group = static_cast<std::size_t>(at.from) * static_cast<std::size_t>(batch.channels / form.head_dim) + static_cast<std::size_t>(at.channel / form.head_dim);
    pair = pair_word(scale_at(page.payload, group), scale_at(page.payload, groups + group));
  }
  return __shfl_sync(whole_warp, pair, reader);
}

template <int kChannels>
__device__ inline void decode_stretch(const Batch<UniformDecodePage>& batch, const Stretch<kChannels>& at, const UniformForm& form,
                                      const Scales<kChannels>& scales) {
  if (!scales.finite) {
    atomicMax(batch.outcomes + at.page, static_cast<unsigned>(PageOutcome::not_finite));
    return;
  }
  const UniformDecodePage& page = batch.page[at.page];
  const std::size_t codes_at = uniform_layout(page.tokens, batch.channels, form).codes_at();
  for (int token = at.from; token < at.to; ++token) {
    const std::size_t first = static_cast<std::size_t>(token) * static_cast<std::size_t>(batch.channels) + static_cast<std::size_t>(at.channel);
    decode_values<kChannels>(page, codes_at, first, form.bits, scales);
  }
}

template <int kChannels>
__global__ void __launch_bounds__(block_threads)
    decode_integers(const __grid_constant__ Batch<UniformDecodePage> batch, UniformForm form, int steps) {
  const int lane = static_cast<int>(threadIdx.x) % lanes, rows = form.per_channel ? rows_per_channel_scales : 1;
  const int items = batch.pages * steps * (batch.channels / kChannels), stride = static_cast<int>(gridDim.x) * block_threads;
  int warp_item = static_cast<int>(blockIdx.x) * block_threads + static_cast<int>(threadIdx.x) - lane;
  for (; warp_item < items; warp_item += stride) {
    const Stretch<kChannels> at(batch, items, steps, rows, warp_item + lane);
    if (!form.per_channel) {
      const std::uint32_t pair = head_scale(batch, at, form, lane);
      if (!at.empty()) decode_stretch(batch, at, form, Scales<kChannels>(pair));
    } else if (!at.empty()) {
      const std::byte* payload = batch.page[at.page].payload;
      decode_stretch(batch, at, form, Scales<kChannels>(payload, static_cast<std::size_t>(batch.channels), static_cast<std::size_t>(at.channel)));
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
