// LynxFit::least_error on a GPU: a lane tries the scalars of a channel's chunk, in the order and by the
// measure that kernels/codec_math.hpp gives.
#pragma once

#include "kernels/cuda/codec_encode_state.cuh"
#include "kernels/cuda/codec_slice_rows.cuh"

namespace lynxkv::kernels::cuda {

// One channel's xn over the tokens of a chunk, from the slice in shared memory.
struct ChunkColumn {
  const std::uint32_t* rows;
  TokenRange range;
  int channel;  // of the slice
  float gmin, gscale, per_gscale;
  bool divide;

  __device__ ChunkColumn(const std::uint32_t* slice_rows, TokenRange tokens, const PageTerms& page,
                         int slice_channel, bool only_division)
      : rows(slice_rows),
        range(tokens),
        channel(slice_channel),
        gmin(page.gmin[slice_channel]),
        gscale(page.gscale[slice_channel]),
        per_gscale(page.per_gscale[slice_channel]),
        divide(only_division) {}
  __device__ float at(int token) const {
    const std::uint32_t word = rows[token * slice_pairs + channel / 2];
    const Bf16 x = channel % 2 == 0 ? even_of(word) : odd_of(word);
    return divide ? lynx_normalise(x, gmin, gscale) : normalised(to_float(x), gmin, gscale, per_gscale);
  }
};

struct FitScalars {
  std::uint8_t mu8, sg8;
};

// The largest |xn - mu| of a chunk: one of its extremes has it.
__device__ inline float chunk_spread(float low, float high, float mu) {
  const float below = fabsf(low - mu), above = fabsf(high - mu);
  return below > above ? below : above;
}

// low, high: the column's extremes. start: what they give. scalar_code: lynx_scalar_code of a spread.
template <class ScalarCode>
__device__ inline FitScalars fitted_scalars(const ChunkColumn& column, float low, float high,
                                            FitScalars start, const EncodeCoding& coding,
                                            const LynxTables& tables, ScalarCode scalar_code) {
  const float steps = lynx_fit_steps(tables.levels);
  FitScalars best = start;
  float least = __uint_as_float(0x7f800000u);
  for (int trial = 0; trial < lynx_fit_trials; ++trial) {
    const int mu8 = start.mu8 + lynx_fit_shift(trial);
    if (mu8 < 0 || mu8 > 255) continue;
    const float mu = lynx_centre_value(static_cast<std::uint8_t>(mu8)), s = chunk_spread(low, high, mu);
    const std::uint8_t narrow = scalar_code(s);
    const std::uint8_t codes[2] = {narrow, lynx_wider_scalar(narrow, s, coding.sigma)};
    const float sg[2] = {tables.scalar[codes[0]], tables.scalar[codes[1]]};
    const float per[2] = {sg[0] > 0.0f ? steps / sg[0] : 0.0f, sg[1] > 0.0f ? steps / sg[1] : 0.0f};
    float sum[2] = {0.0f, 0.0f};
    for (int token = column.range.first; token < column.range.last; ++token) {
      const float size = fabsf(column.at(token) - mu);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float miss = lynx_fit_miss(size, per[i]);
        const float square = miss * miss;
        sum[i] = sum[i] + square;
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float error = (sum[i] * sg[i]) * sg[i];
      if (!(error < least)) continue;
      least = error;
      best = {static_cast<std::uint8_t>(mu8), codes[i]};
    }
  }
  return best;
}

}  // namespace lynxkv::kernels::cuda
