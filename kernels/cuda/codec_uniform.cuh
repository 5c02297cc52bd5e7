// What the kernels of the plain integers share.
#pragma once

#include "base/check.hpp"
#include "base/error.hpp"
#include "kernels/codec_uniform_math.hpp"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/codec_slice_rows.cuh"

namespace lynxkv::kernels::cuda {

// How codes lie in a payload, as kernels need it.
struct UniformForm {
  int head_dim, bits;
  bool per_channel;
};

__device__ inline UniformLayout uniform_layout(int tokens, int channels, const UniformForm& form) {
  UniformLayout layout;
  layout.tokens = tokens;
  layout.channels = channels;
  layout.head_dim = form.head_dim;
  layout.bits = form.bits;
  layout.per_channel = form.per_channel;
  return layout;
}

// uniform_code by the corrected reciprocal: like gscale, a step has eight significant bits.
struct UniformTerms {
  float lo, step, per_step;
  bool divide;  // the step is too small or too large for that

  __device__ explicit UniformTerms(UniformScale scale)
      : lo(to_float(scale.lo)), step(to_float(scale.step)), per_step(reciprocal_or_zero(step)), divide(!safe_scale(step)) {}
  __device__ int code(Bf16 x, int largest_code) const {
    if (divide) return uniform_code(x, lo, step, largest_code);
    const int code = static_cast<int>(normalised(to_float(x), lo, step, per_step) + 0.5f);
    return code > largest_code ? largest_code : code;
  }
};

// Both codes of a pair; `pair` counts from the first code, in pairs.
__device__ inline void store_code_pair(std::byte* codes, std::size_t pair, int even, int odd, int bits) {
  if (bits == 8)
    __stcs(reinterpret_cast<unsigned short*>(codes) + pair, static_cast<unsigned short>(even | odd << 8));
  else
    __stcs(reinterpret_cast<unsigned char*>(codes) + pair, static_cast<unsigned char>(even | odd << 4));
}

inline UniformForm checked_form(const UniformShape& shape) {
  LYNXKV_CHECK(shape.bits == 4 || shape.bits == 8);
  if (!shape.per_channel && (shape.head_dim < 2 || shape.head_dim % 2 != 0 || shape.head_dim > uniform_head_dim_limit || shape.channels % shape.head_dim != 0))
    throw Error(ErrorCode::usage, "integer codec on CUDA",
                "head_dim is " + std::to_string(shape.head_dim) + "; expected an even divisor of " + std::to_string(shape.channels) +
                    " channels, at most " + std::to_string(uniform_head_dim_limit));
  return {shape.per_channel ? shape.channels : shape.head_dim, shape.bits, shape.per_channel};
}

template <class Page>
void check_uniform_pages(std::span<const Page> pages) {
  for (const Page& page : pages) {
    LYNXKV_CHECK(page.tokens >= 1 && page.tokens <= page_tokens_limit);
    LYNXKV_CHECK(is_aligned(page.rows, 4) && is_aligned(page.payload, 4));
  }
}

}  // namespace lynxkv::kernels::cuda
