// The scalars of a slice, with lanes in pair order: the page's scale, the chunks' centres and scalars.
#pragma once

#include "kernels/cuda/codec_encode_fit.cuh"
#include "kernels/cuda/codec_encode_state.cuh"
#include "kernels/cuda/codec_slice_rows.cuh"

namespace lynxkv::kernels::cuda {

__device__ inline void keep_scale(PageTerms& terms, int channel, LynxScale scale) {
  const float gscale = to_float(scale.gscale);
  terms.gmin[channel] = to_float(scale.gmin);
  terms.gscale[channel] = gscale;
  terms.per_gscale[channel] = reciprocal_or_zero(gscale);
}

// One warp: the page's gmin and gscale into shared memory and the payload. Gives the slice's outcome in each lane.
__device__ inline unsigned take_page_scale(const EncodeSlice& slice, EncodeShared& shared, int lane) {
  const std::uint32_t* extremes = extremes_of(shared);
  std::uint32_t least = pair_of_infinities, largest = pair_of_minus_infinities;
  for (int chunk = 0; chunk < slice.layout.chunks(); ++chunk) {
    least = least_of(least, extremes[(chunk * 2) * slice_pairs + lane]);
    largest = largest_of(largest, extremes[(chunk * 2 + 1) * slice_pairs + lane]);
  }
  if (slice.layout.sinks >= slice.layout.tokens) least = largest = 0;
  const unsigned even_outcome = outcome_of(even_of(least), even_of(largest));
  const unsigned odd_outcome = outcome_of(odd_of(least), odd_of(largest));
  const LynxScale even = lynx_scale(even_of(least), even_of(largest));
  const LynxScale odd = lynx_scale(odd_of(least), odd_of(largest));
  keep_scale(shared.page, 2 * lane, even);
  keep_scale(shared.page, 2 * lane + 1, odd);
  const bool divide = !safe_scale(to_float(even.gscale)) || !safe_scale(to_float(odd.gscale));
  const bool usable = even_outcome == 0 && odd_outcome == 0;
  const bool divide_any = __any_sync(whole_warp, divide) != 0, usable_all = __all_sync(whole_warp, usable) != 0;
  if (lane == 0) {
    shared.divide = divide_any;
    shared.usable = usable_all;
  }
  const int channel = slice.first_channel + 2 * lane;
  if (usable_all && channel < slice.layout.channels) {
    std::byte* gmin = slice.anchor + slice.layout.gmin_at() + static_cast<std::size_t>(channel) * 2;
    __stcs(reinterpret_cast<unsigned int*>(gmin), pair_word(even.gmin, odd.gmin));
    __stcs(reinterpret_cast<unsigned int*>(gmin + slice.layout.row_bytes()), pair_word(even.gscale, odd.gscale));
  }
  return even_outcome > odd_outcome ? even_outcome : odd_outcome;
}

// lynx_log_scalar from a closer start: the table decides, whatever the guess.
__device__ inline std::uint8_t log_scalar(float s, const float* scalar) {
  if (!(s > 0.0f)) return 255;
  int k = static_cast<int>(-16.0f * __log2f(s));
  k = k < 0 ? 0 : k > 254 ? 254 : k;
  while (k < 254 && scalar[k + 1] >= s) ++k;
  while (k > 0 && scalar[k] < s) --k;
  return static_cast<std::uint8_t>(k);
}

// The sum of a channel's xn in token order, for both channels of the lane's pair.
struct PairSum {
  float even, odd;
};
__device__ inline PairSum sum_chunk(const std::uint32_t* rows, TokenRange range, const PageTerms& page, int lane, bool divide) {
  PairSum sum{0.0f, 0.0f};
  const int even = 2 * lane, odd = 2 * lane + 1;
  for (int token = range.first; token < range.last; ++token) {
    const std::uint32_t x = rows[token * slice_pairs + lane];
    if (divide) {
      sum.even = sum.even + lynx_normalise(even_of(x), page.gmin[even], page.gscale[even]);
      sum.odd = sum.odd + lynx_normalise(odd_of(x), page.gmin[odd], page.gscale[odd]);
    } else {
      sum.even = sum.even + normalised(even_value(x), page.gmin[even], page.gscale[even], page.per_gscale[even]);
      sum.odd = sum.odd + normalised(odd_value(x), page.gmin[odd], page.gscale[odd], page.per_gscale[odd]);
    }
  }
  return sum;
}

// The centre and the scalar of one channel of a chunk, into `terms`. Dividing keeps order, so the extremes of xn are
// those of x; so does taking mu away, so the largest |d| is one of theirs.
__device__ inline FitScalars take_chunk_scalars(Bf16 least, Bf16 largest, float sum, const ChunkColumn& column,
                                                const EncodeCoding& coding, const EncodeShared& shared, ChunkTerms& terms) {
  const float* scalar = shared.tables.scalar;
  const auto scalar_code = [&](float s) { return coding.sigma == LynxSigma::log ? log_scalar(s, scalar) : lynx_linear_scalar(s); };
  const float low = lynx_normalise(least, column.gmin, column.gscale), high = lynx_normalise(largest, column.gmin, column.gscale);
  const int count = column.range.last - column.range.first;
  FitScalars codes;
  codes.mu8 = lynx_centre_code(coding.centre == LynxCentre::mid ? (low + high) * 0.5f : sum / static_cast<float>(count));
  codes.sg8 = scalar_code(chunk_spread(low, high, lynx_centre_value(codes.mu8)));
  if (coding.fit == LynxFit::least_error) codes = fitted_scalars(column, low, high, codes, coding, shared.tables, scalar_code);
  const float mu = lynx_centre_value(codes.mu8), sg = scalar[codes.sg8];
  terms.minus_mu[column.channel] = 0.0f - mu;  // never -0, and then d = xn - mu is never -0 either: its sign bit is `d < 0`
  terms.sg[column.channel] = sg;
  terms.per_sg[column.channel] = reciprocal_or_zero(sg);
  return codes;
}

// One warp: mu8 and sg8 of a chunk into the payload, and its terms into shared memory.
__device__ inline void take_chunk_terms(const EncodeSlice& slice, const std::uint32_t* rows, int chunk, int lane,
                                        const EncodeCoding& coding, EncodeShared& shared, ChunkTerms& terms) {
  const TokenRange range = tokens_of_chunk(slice.layout, chunk);
  FitScalars even{0, 0}, odd{0, 0};  // what a chunk of sinks writes
  if (range.first < range.last) {
    const std::uint32_t* extremes = extremes_of(shared) + chunk * 2 * slice_pairs;
    const std::uint32_t least = extremes[lane], largest = extremes[slice_pairs + lane];
    const bool divide = shared.divide != 0;
    PairSum sum{0.0f, 0.0f};
    if (coding.centre == LynxCentre::mean) sum = sum_chunk(rows, range, shared.page, lane, divide);
    even = take_chunk_scalars(even_of(least), even_of(largest), sum.even, {rows, range, shared.page, 2 * lane, divide}, coding, shared, terms);
    odd = take_chunk_scalars(odd_of(least), odd_of(largest), sum.odd, {rows, range, shared.page, 2 * lane + 1, divide}, coding, shared, terms);
  }
  const int channel = slice.first_channel + 2 * lane;
  if (channel >= slice.layout.channels) return;
  const std::size_t at = static_cast<std::size_t>(chunk) * static_cast<std::size_t>(slice.layout.channels) + static_cast<std::size_t>(channel);
  __stcs(reinterpret_cast<unsigned short*>(slice.anchor + slice.layout.mu8_at() + at), static_cast<unsigned short>(even.mu8 | odd.mu8 << 8));
  __stcs(reinterpret_cast<unsigned short*>(slice.anchor + slice.layout.sg8_at() + at), static_cast<unsigned short>(even.sg8 | odd.sg8 << 8));
}

}  // namespace lynxkv::kernels::cuda
