// `lynx` encode over one strip of channels, for each instruction set.
#include <limits>

#include "kernels/cpu/codec_strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/codec_encode.cpp"
#include <hwy/foreach_target.h>
// After foreach_target: the helpers of each instruction set.
#include <hwy/highway.h>

#include "kernels/cpu/codec_lanes-inl.hpp"
#include "kernels/cpu/codec_scalars-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::strips::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors at all: pages go to the plain reference, these are never called
int PairsPerStrip() { return std::numeric_limits<int>::max(); }
PageOutcome StripStatistics(const EncodePage&, int) { return PageOutcome::coded; }
void StripCodes(const EncodePage&, int) {}
#else

int PairsPerStrip() { return static_cast<int>(hn::Lanes(Words())); }

struct ChunkRange {
  int first, last;  // tokens, sinks left out; empty where first >= last
};
HWY_INLINE ChunkRange chunk_range(const LynxLayout& layout, int chunk) {
  const int from = chunk * layout.chunk_tokens;
  return {HWY_MAX(from, layout.sinks), HWY_MIN(from + layout.chunk_tokens, layout.tokens)};
}

PageOutcome StripStatistics(const EncodePage& page, int first_pair) {
  const LynxLayout& layout = *page.layout;
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t column = static_cast<std::size_t>(first_pair) * 2;
  Half page_least = hn::Set(Halves(), 0x7fff), page_largest = hn::Set(Halves(), -0x7fff - 1);
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    const ChunkRange range = chunk_range(layout, chunk);
    Half least = hn::Set(Halves(), 0x7fff), largest = hn::Set(Halves(), -0x7fff - 1);
    const Bf16* row = page.rows + static_cast<std::size_t>(range.first) * channels + column;
    for (int token = range.first; token < range.last; ++token, row += channels) {
      const Half x = ordered(hn::BitCast(Halves(), load_pairs(row)));
      least = hn::Min(least, x);
      largest = hn::Max(largest, x);
    }
    std::int16_t* keep = page.workspace + static_cast<std::size_t>(chunk) * 2 * channels + column;
    hn::StoreU(least, Halves(), keep);
    hn::StoreU(largest, Halves(), keep + channels);
    page_least = hn::Min(page_least, least);
    page_largest = hn::Max(page_largest, largest);
  }
  const bool empty = layout.sinks >= layout.tokens;
  if (empty) page_least = page_largest = hn::Zero(Halves());
  const auto at_least = [&](int bits) {  // some value has this magnitude or more
    const auto above = hn::Gt(page_largest, hn::Set(Halves(), static_cast<std::int16_t>(bits - 1)));
    const auto below = hn::Lt(page_least, hn::Set(Halves(), static_cast<std::int16_t>(-bits)));
    return !hn::AllFalse(Halves(), hn::Or(above, below));
  };
  if (at_least(0x7f80)) return PageOutcome::not_finite;
  if (at_least(0x7e80)) return PageOutcome::raw;

  const Word least_bits = hn::BitCast(Words(), ordered(page_least));
  const Word largest_bits = hn::BitCast(Words(), ordered(page_largest));
  const Word even = range_bits(hn::Sub(even_values(largest_bits), even_values(least_bits)));
  const Word odd = range_bits(hn::Sub(odd_values(largest_bits), odd_values(least_bits)));
  store_pairs(without_negative_zeros(least_bits), page.anchor + layout.gmin_at() + column * 2);
  store_pairs(hn::Or(hn::ShiftRight<16>(even), odd), page.anchor + layout.gscale_at() + column * 2);
  return PageOutcome::coded;
}

// Near a tie the table decides, with the division as it is defined.
HWY_NOINLINE Word settle(Float size, Float sg, Word guess, const LynxTables& tables) {
  constexpr std::size_t most = HWY_MAX_BYTES / sizeof(float);
  HWY_ALIGN float sizes[most], scalars[most];
  HWY_ALIGN std::uint32_t m[most];
  hn::Store(size, Floats(), sizes);
  hn::Store(sg, Floats(), scalars);
  hn::Store(guess, Words(), m);
  for (std::size_t i = 0; i < hn::Lanes(Words()); ++i)
    m[i] = static_cast<std::uint32_t>(lynx_magnitude(lynx_ratio(sizes[i], scalars[i]), tables, static_cast<int>(m[i])));
  return hn::Load(Words(), m);
}

// The guess of L * log1p(alpha u) / log1p(alpha), in registers: a payload's bytes may alias anything in memory.
template <int kDegree, bool kOfLogarithm>
struct Guess {
  Float coefficient[kDegree + 1], scale, alpha, tie;

  HWY_INLINE explicit Guess(const LynxCoding& coding)
      : scale(hn::Set(Floats(), coding.guess.scale)),
        alpha(hn::Set(Floats(), coding.alpha)),
        tie(hn::Set(Floats(), 0.5f - coding.guess.near)) {
    for (int i = 0; i <= kDegree; ++i) coefficient[i] = hn::Set(Floats(), coding.guess.coefficient[i]);
  }
  HWY_INLINE Float operator()(Float u) const {
    Float t = u, exponent = u;
    if constexpr (kOfLogarithm) {
      const Word bits = hn::BitCast(Words(), hn::MulAdd(u, alpha, hn::Set(Floats(), 1.0f)));
      exponent = hn::Sub(float_of(hn::ShiftRight<23>(bits)), hn::Set(Floats(), 127.0f));
      const Word mantissa = hn::Or(hn::And(bits, hn::Set(Words(), 0x7fffff)), hn::Set(Words(), 0x3f800000));
      t = hn::Sub(hn::BitCast(Floats(), mantissa), hn::Set(Floats(), 1.0f));
    }
    Float sum = coefficient[kDegree];
    for (int i = kDegree - 1; i >= 0; --i) sum = hn::MulAdd(sum, t, coefficient[i]);
    return kOfLogarithm ? hn::Mul(hn::Add(exponent, sum), scale) : sum;
  }
};

struct Magnitudes {
  Word m;     // in 0 .. levels
  Word sign;  // d's sign bit, the rest is rubble
};

template <class Guesser>
HWY_INLINE Magnitudes magnitudes(Float xn, const HalfState& half, const Guesser& guesser, const LynxTables& tables) {
  const Float d = hn::Add(xn, half.minus_mu);
  const Float size = hn::Abs(d);
  const Float guess = guesser(hn::Mul(size, half.per_sg));
  const Float magic = hn::Set(Floats(), 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Float shifted = hn::Add(guess, magic);
  const Float off = hn::Abs(hn::Sub(guess, hn::Sub(shifted, magic)));
  Word m = hn::And(hn::BitCast(Words(), shifted), hn::Set(Words(), 0xff));
  const auto near_tie = hn::Gt(off, guesser.tie);
  if (HWY_UNLIKELY(!hn::AllFalse(Floats(), near_tie))) m = settle(size, half.sg, m, tables);
  return {m, hn::BitCast(Words(), d)};
}

template <bool kDivide>
HWY_INLINE Float normalised(Float x, const HalfState& half) {
  return kDivide ? divided(x, half) : corrected(x, half);
}

// Both halves normalised.
template <bool kResidual, class Guesser>
HWY_INLINE void code_row(Float even_xn, Float odd_xn, const HalfState& even, const HalfState& odd, const Guesser& guesser,
                         const LynxTables& tables, std::byte* anchor, std::byte* residual) {
  const Magnitudes low = magnitudes(even_xn, even, guesser, tables);
  const Magnitudes high = magnitudes(odd_xn, odd, guesser, tables);
  const Word seven = hn::Set(Words(), 7);
  const Word a = hn::Or(hn::ShiftRight<4>(hn::Add(low.m, seven)),
                        hn::And(hn::Add(high.m, seven), hn::Set(Words(), 0xf0)));
  const auto spread = [](Word signs) {
    return hn::BitCast(Words(), hn::BroadcastSignBit(hn::BitCast(Signed(), signs)));
  };
  const Word flip =
      hn::Or(hn::And(spread(low.sign), hn::Set(Words(), 0x0f)), hn::And(spread(high.sign), hn::Set(Words(), 0xf0)));
  store_bytes(hn::Xor(a, flip), anchor);
  if constexpr (!kResidual) return;
  // 16 a - m, of which only the low four bits count: -m.
  const Word minus_low = hn::And(hn::Sub(hn::Zero(Words()), low.m), hn::Set(Words(), 0x0f));
  const Word minus_high = hn::And(hn::ShiftLeft<4>(hn::Sub(hn::Zero(Words()), high.m)), hn::Set(Words(), 0xf0));
  store_bytes(hn::Or(minus_low, minus_high), residual);
}

struct Sums {
  Float even, odd;
};
HWY_NOINLINE Sums sums(const Bf16* row, int count, std::size_t channels, const HalfState& even, const HalfState& odd) {
  Sums sum{hn::Zero(Floats()), hn::Zero(Floats())};
  for (int i = 0; i < count; ++i, row += channels) {
    const Word pairs = load_pairs(row);
    sum.even = hn::Add(sum.even, divided(even_values(pairs), even));
    sum.odd = hn::Add(sum.odd, divided(odd_values(pairs), odd));
  }
  return sum;
}

// Normalised values of the chunk's rows: [count] vectors for each half.
template <bool kDivide>
HWY_INLINE void normalise_rows(const Bf16* row, int count, std::size_t channels, const HalfState& even,
                               const HalfState& odd, float* even_xn, float* odd_xn) {
  for (int i = 0; i < count; ++i, row += channels, even_xn += hn::Lanes(Floats()), odd_xn += hn::Lanes(Floats())) {
    const Word pairs = load_pairs(row);
    const Float low = even_values(pairs), high = odd_values(pairs);
    hn::Store(normalised<kDivide>(low, even), Floats(), even_xn);
    hn::Store(normalised<kDivide>(high, odd), Floats(), odd_xn);
  }
}

// Scratch for the fit of a chunk: its 256 tokens at most.
constexpr std::size_t fit_values = 256 * (HWY_MAX_BYTES / sizeof(float));

template <bool kDivide, bool kResidual, class Guesser>
void code_chunks(const EncodePage& page, int first_pair, HalfState even, HalfState odd) {
  const LynxLayout layout = *page.layout;
  const LynxCoding& coding = *page.coding;
  const Guesser guesser(coding);
  const std::size_t channels = static_cast<std::size_t>(layout.channels), pairs = channels / 2;
  const std::size_t pair = static_cast<std::size_t>(first_pair), column = pair * 2;
  std::byte* const nibbles = page.anchor + layout.nibbles_at();
  HWY_ALIGN float even_xn[fit_values], odd_xn[fit_values];
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    const ChunkRange range = chunk_range(layout, chunk);
    const std::size_t scalars_at = static_cast<std::size_t>(chunk) * channels + column;
    ScalarCodes low{hn::Zero(Words()), hn::Zero(Words())}, high = low;
    if (range.first < range.last) {
      const std::int16_t* kept = page.workspace + static_cast<std::size_t>(chunk) * 2 * channels + column;
      const Word least = hn::BitCast(Words(), ordered(hn::LoadU(Halves(), kept)));
      const Word largest = hn::BitCast(Words(), ordered(hn::LoadU(Halves(), kept + channels)));
      const Bf16* row = page.rows + static_cast<std::size_t>(range.first) * channels + column;
      const int count = range.last - range.first;
      Sums sum{hn::Zero(Floats()), hn::Zero(Floats())};
      if (coding.centre == LynxCentre::mean) sum = sums(row, count, channels, even, odd);
      low = chunk_scalars(even, even_values(least), even_values(largest), sum.even, static_cast<float>(count), coding);
      high = chunk_scalars(odd, odd_values(least), odd_values(largest), sum.odd, static_cast<float>(count), coding);
      const bool fit = coding.fit == LynxFit::least_error;
      if (fit) {
        normalise_rows<kDivide>(row, count, channels, even, odd, even_xn, odd_xn);
        low = fitted_scalars(even, low, even_values(least), even_values(largest), even_xn, count, coding);
        high = fitted_scalars(odd, high, odd_values(least), odd_values(largest), odd_xn, count, coding);
      }
      const std::size_t nibble = static_cast<std::size_t>(range.first - layout.sinks) * pairs + pair;
      const HalfState even_now = even, odd_now = odd;
      std::byte* residual = kResidual ? page.residual + nibble : nullptr;
      std::byte* anchor = nibbles + nibble;
      if (fit) {
        for (int i = 0; i < count; ++i, anchor += pairs, residual += kResidual ? pairs : 0) {
          const std::size_t at = static_cast<std::size_t>(i) * hn::Lanes(Floats());
          code_row<kResidual>(hn::Load(Floats(), even_xn + at), hn::Load(Floats(), odd_xn + at), even_now, odd_now, guesser,
                              coding.tables, anchor, residual);
        }
      } else {
        for (int i = 0; i < count; ++i, row += channels, anchor += pairs, residual += kResidual ? pairs : 0) {
          const Word both = load_pairs(row);
          code_row<kResidual>(normalised<kDivide>(even_values(both), even_now), normalised<kDivide>(odd_values(both), odd_now),
                              even_now, odd_now, guesser, coding.tables, anchor, residual);
        }
      }
    }
    store_byte_pairs(low.mu8, high.mu8, page.anchor + layout.mu8_at() + scalars_at);
    store_byte_pairs(low.sg8, high.sg8, page.anchor + layout.sg8_at() + scalars_at);
  }
}

template <bool kDivide, bool kResidual>
void code_by_guess(const EncodePage& page, int first_pair, const HalfState& even, const HalfState& odd) {
  const LynxGuess& guess = page.coding->guess;
  if (guess.of_logarithm) return code_chunks<kDivide, kResidual, Guess<7, true>>(page, first_pair, even, odd);
  if (guess.degree == 3) return code_chunks<kDivide, kResidual, Guess<3, false>>(page, first_pair, even, odd);
  return code_chunks<kDivide, kResidual, Guess<7, false>>(page, first_pair, even, odd);
}

void StripCodes(const EncodePage& page, int first_pair) {
  const LynxLayout& layout = *page.layout;
  const std::size_t at = static_cast<std::size_t>(first_pair) * 4;
  const Word gmin = load_pairs(page.anchor + layout.gmin_at() + at);
  const Word gscale = load_pairs(page.anchor + layout.gscale_at() + at);
  HalfState even{}, odd{};
  set_scale(even, even_values(gmin), even_values(gscale));
  set_scale(odd, odd_values(gmin), odd_values(gscale));
  const bool divide = !safe_scale(even) || !safe_scale(odd), residual = page.residual != nullptr;
  if (divide)
    return residual ? code_by_guess<true, true>(page, first_pair, even, odd)
                    : code_by_guess<true, false>(page, first_pair, even, odd);
  return residual ? code_by_guess<false, true>(page, first_pair, even, odd)
                  : code_by_guess<false, false>(page, first_pair, even, odd);
}
#endif

}  // namespace lynxkv::kernels::strips::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels::strips {

HWY_EXPORT(PairsPerStrip);
HWY_EXPORT(StripStatistics);
HWY_EXPORT(StripCodes);

int width() { return HWY_DYNAMIC_DISPATCH(PairsPerStrip)(); }
PageOutcome statistics(const EncodePage& page, int first_pair) {
  return HWY_DYNAMIC_DISPATCH(StripStatistics)(page, first_pair);
}
void codes(const EncodePage& page, int first_pair) { HWY_DYNAMIC_DISPATCH(StripCodes)(page, first_pair); }

}  // namespace lynxkv::kernels::strips
#endif
