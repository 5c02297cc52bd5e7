// The nibbles of a chunk, with lanes in block order: eight channels a lane, packed in registers.
#pragma once

#include "kernels/cuda/codec_encode_state.cuh"

namespace lynxkv::kernels::cuda {

// The forms that make_lynx_coding's guess comes in.
enum class GuessForm { cubic, seventh_degree, logarithm };

// L * log1p(alpha u) / log1p(alpha), within guess.near: the same operations that make_lynx_coding measured it with.
template <GuessForm kForm>
__device__ inline float guess_magnitude(float u, const LynxGuess& guess, float alpha) {
  float t = u, exponent = 0.0f;
  if constexpr (kForm == GuessForm::logarithm) {
    const std::uint32_t bits = __float_as_uint(__fmaf_rn(u, alpha, 1.0f));
    exponent = static_cast<float>(static_cast<int>(bits >> 23) - 127);
    t = __uint_as_float((bits & 0x7fffffu) | 0x3f800000u) - 1.0f;
  }
  constexpr int degree = kForm == GuessForm::cubic ? 3 : 7;
  float sum = guess.coefficient[degree];
#pragma unroll
  for (int i = degree - 1; i >= 0; --i) sum = __fmaf_rn(sum, t, guess.coefficient[i]);
  return kForm == GuessForm::logarithm ? (exponent + sum) * guess.scale : sum;
}

// The nibbles of a lane's eight channels in one row.
struct RowCodes {
  std::uint32_t anchor, residual;
  std::uint32_t unsure;  // bit c: the guess is too near a tie to be trusted
};

// What a lane knows of its eight channels while it goes down a chunk.
struct BlockTerms {
  float gmin[block_channels], gscale[block_channels], per_gscale[block_channels];
  float minus_mu[block_channels], per_sg[block_channels];

  __device__ BlockTerms(const PageTerms& page, const ChunkTerms& chunk, int first) {
    copy(gmin, page.gmin + first);
    copy(gscale, page.gscale + first);
    copy(per_gscale, page.per_gscale + first);
    copy(minus_mu, chunk.minus_mu + first);
    copy(per_sg, chunk.per_sg + first);
  }

 private:
  __device__ static void copy(float* to, const float* from) {
    const float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
  }
};

template <GuessForm kForm>
__device__ inline RowCodes code_row(const std::uint32_t* words, const BlockTerms& terms, const EncodeCoding& coding) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const float tie = 0.5f - coding.guess.near;
  RowCodes codes{0, 0, 0};
#pragma unroll
  for (int c = 0; c < block_channels; ++c) {
    const float x = c % 2 == 0 ? even_value(words[c / 2]) : odd_value(words[c / 2]);
    const float d = normalised(x, terms.gmin[c], terms.gscale[c], terms.per_gscale[c]) + terms.minus_mu[c];
    const float guess = guess_magnitude<kForm>(fabsf(d) * terms.per_sg[c], coding.guess, coding.alpha);
    const float shifted = guess + magic;
    if (fabsf(guess - (shifted - magic)) > tie) codes.unsure |= 1u << c;
    const std::uint32_t m = __float_as_uint(shifted) & 0xffu;
    const std::uint32_t flip = static_cast<std::uint32_t>(static_cast<std::int32_t>(__float_as_uint(d)) >> 31);
    codes.anchor |= ((((m + 7u) >> 4) ^ flip) & 15u) << (4 * c);
    codes.residual |= ((0u - m) & 15u) << (4 * c);  // r = 16 a - m, of which four bits count
  }
  return codes;
}

// Codes anew, as the format defines it, the channels whose guess is not to be trusted. About one row of a warp in six
// comes here for one of its 256 values.
__device__ inline void settle_row(const std::uint32_t* row, int first, const EncodeShared& shared, const ChunkTerms& chunk,
                                  RowCodes& codes) {
  for (std::uint32_t left = codes.unsure; left != 0; left &= left - 1) {
    const int c = __ffs(static_cast<int>(left)) - 1, channel = first + c;
    const std::uint32_t word = row[c / 2];
    const Bf16 x = c % 2 == 0 ? even_of(word) : odd_of(word);
    const float d = lynx_normalise(x, shared.page.gmin[channel], shared.page.gscale[channel]) + chunk.minus_mu[channel];
    const float u = lynx_ratio(fabsf(d), chunk.sg[channel]);
    const int guess = static_cast<int>(u * static_cast<float>(shared.tables.levels));
    const LynxCode code = lynx_split(lynx_magnitude(u, shared.tables, guess), d < 0.0f);
    const std::uint32_t mask = 15u << (4 * c);
    codes.anchor = (codes.anchor & ~mask) | static_cast<std::uint32_t>(code.anchor) << (4 * c);
    codes.residual = (codes.residual & ~mask) | static_cast<std::uint32_t>(code.residual) << (4 * c);
  }
}

// One warp: all rows of a chunk.
template <GuessForm kForm>
__device__ inline void code_chunk(const EncodeSlice& slice, const std::uint32_t* rows, int chunk, int lane,
                                  const EncodeCoding& coding, const EncodeShared& shared, const ChunkTerms& chunk_terms) {
  const TokenRange range = tokens_of_chunk(slice.layout, chunk);
  const int first = lane % lanes_across * block_channels, channel = slice.first_channel + first;
  const int there = slice.layout.channels - channel;
  if (there <= 0) return;
  const BlockTerms terms(shared.page, chunk_terms, first);
  const bool divide = shared.divide != 0;
  const bool words = slice.layout.channels % block_channels == 0;
  const bool residual_words = words && is_aligned(slice.residual, 4);
  const std::size_t row_nibbles = static_cast<std::size_t>(slice.layout.channels / 2);
  const std::size_t nibbles_at = slice.layout.nibbles_at();
  for (int token = range.first + lane / lanes_across; token < range.last; token += rows_at_once) {
    const std::uint32_t* row = rows + token * slice_pairs + first / 2;
    const uint4 four = *reinterpret_cast<const uint4*>(row);
    const std::uint32_t pairs[4] = {four.x, four.y, four.z, four.w};
    RowCodes codes = code_row<kForm>(pairs, terms, coding);
    if (divide) codes.unsure = 0xffu;
    if (codes.unsure != 0) settle_row(row, first, shared, chunk_terms, codes);
    const std::size_t at = static_cast<std::size_t>(token - slice.layout.sinks) * row_nibbles + static_cast<std::size_t>(channel / 2);
    store_nibbles(slice.anchor + nibbles_at + at, codes.anchor, there, words);
    if (slice.residual != nullptr) store_nibbles(slice.residual + at, codes.residual, there, residual_words);
  }
}

}  // namespace lynxkv::kernels::cuda
