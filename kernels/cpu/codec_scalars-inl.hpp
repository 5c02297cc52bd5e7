// The scalars of a chunk, one half (even or odd channels) of a strip at a time. Compiled once per instruction set by
// Highway's foreach_target (so the guard below toggles).
#if defined(LYNXKV_KERNELS_CPU_CODEC_SCALARS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LYNXKV_KERNELS_CPU_CODEC_SCALARS_INL_HPP
#undef LYNXKV_KERNELS_CPU_CODEC_SCALARS_INL_HPP
#else
#define LYNXKV_KERNELS_CPU_CODEC_SCALARS_INL_HPP
#endif

#include <limits>

#include "kernels/codec.hpp"
#include "kernels/cpu/codec_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::strips::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// What one half (even or odd channels) of a strip needs: the page's scale, and the chunk's scalars.
struct HalfState {
  Float gmin, gscale, per_gscale;
  Float minus_mu, sg, per_sg;
};

HWY_INLINE Float reciprocal_or_zero(Float x) {
  return hn::IfThenElseZero(hn::Gt(x, hn::Zero(Floats())), hn::Div(hn::Set(Floats(), 1.0f), x));
}

HWY_INLINE void set_scale(HalfState& half, Float gmin, Float gscale) {
  half.gmin = gmin;
  half.gscale = gscale;
  half.per_gscale = reciprocal_or_zero(gscale);
}

// (x - gmin) / gscale by a true division.
HWY_INLINE Float divided(Float x, const HalfState& half) {
  const auto spread = hn::Gt(half.gscale, hn::Zero(Floats()));
  return hn::IfThenElseZero(spread, hn::Div(hn::Sub(x, half.gmin), half.gscale));
}

// The same by a reciprocal and one correction. gscale has 8 significant bits, so the remainder is exact and the
// quotient is the rounded one, as long as nothing underflows: safe_scale() says where. A quotient so small that
// its remainder underflows (below 2^-58) stays that small, and no rule tells such values apart.
HWY_INLINE Float corrected(Float x, const HalfState& half) {
  const Float above = hn::Sub(x, half.gmin);
  const Float quotient = hn::Mul(above, half.per_gscale);
  const Float remainder = hn::NegMulAdd(quotient, half.gscale, above);
  return hn::MulAdd(remainder, half.per_gscale, quotient);
}
HWY_INLINE bool safe_scale(const HalfState& half) {
  const auto zero = hn::Eq(half.gscale, hn::Zero(Floats()));
  const auto low = hn::Ge(half.gscale, hn::Set(Floats(), 0x1p-60f));
  const auto high = hn::Le(half.gscale, hn::Set(Floats(), 0x1p100f));
  return HWY_NATIVE_FMA && hn::AllTrue(Floats(), hn::Or(zero, hn::And(low, high)));
}

// table[k] of the log scalars, k = 0 .. 255. They are the first sixteen, scaled by powers of two (exactly: the table is
// rounded from exp2), so where a register holds sixteen no memory is read.
HWY_INLINE Float log_value(Word k, const float* table) {
#if HWY_MAX_BYTES >= 64
  const Float first = hn::LoadU(Floats(), table);
  const Word low = hn::And(k, hn::Set(Words(), 15));
  const Float value = hn::TableLookupLanes(first, hn::IndicesFromVec(Floats(), hn::BitCast(Signed(), low)));
  const Word halvings = hn::ShiftLeft<23>(hn::ShiftRight<4>(k));
  const Word bits = hn::Sub(hn::BitCast(Words(), value), halvings);
  return hn::BitCast(Floats(), hn::IfThenZeroElse(hn::Eq(k, hn::Set(Words(), 255)), bits));
#else
  return look_up(table, k);
#endif
}
HWY_INLINE Float scalar_value(Word k, const LynxCoding& coding) {
  return coding.sigma == LynxSigma::log ? log_value(k, coding.tables.scalar) : look_up(coding.tables.scalar, k);
}

// The largest k in 0 .. 254 with table[k] >= s, 255 where s is 0. A guess from log2, then the table.
HWY_INLINE Word log_scalar(Float s, const float* table) {
  const Word bits = hn::BitCast(Words(), s);
  const Float exponent = float_of(hn::ShiftRight<23>(bits));
  const Float t = hn::Sub(hn::BitCast(Floats(), hn::Or(hn::And(bits, hn::Set(Words(), 0x7fffff)),
                                                       hn::Set(Words(), 0x3f800000))),
                          hn::Set(Floats(), 1.0f));
  // log2(1 + t) within 0.0002, so the guess is at most one off.
  Float log2 = hn::MulAdd(t, hn::Set(Floats(), -0.08286f), hn::Set(Floats(), 0.32188f));
  log2 = hn::MulAdd(t, log2, hn::Set(Floats(), -0.67774f));
  log2 = hn::MulAdd(t, log2, hn::Set(Floats(), 1.43864f));
  log2 = hn::Mul(t, log2);
  Float steps = hn::Mul(hn::Sub(hn::Sub(hn::Set(Floats(), 127.0f), exponent), log2), hn::Set(Floats(), 16.0f));
  steps = hn::Min(hn::Max(steps, hn::Set(Floats(), 0.0f)), hn::Set(Floats(), 253.0f));
  const Word guess = floor_of(steps);
  const Float here = log_value(guess, table), next = log_value(hn::Add(guess, hn::Set(Words(), 1)), table);
  const auto word_if = [](auto mask) { return hn::BitCast(Words(), hn::VecFromMask(Floats(), mask)); };  // -1 where set
  Word k = hn::Sub(guess, word_if(hn::Ge(next, s)));
  k = hn::Add(k, word_if(hn::Lt(here, s)));
  const auto none = hn::Eq(s, hn::Zero(Floats()));
  return hn::IfThenElse(hn::RebindMask(Words(), none), hn::Set(Words(), 255), k);
}

HWY_INLINE Word linear_scalar(Float s) {
  return floor_of(hn::Min(hn::Ceil(hn::Mul(s, hn::Set(Floats(), 255.0f))), hn::Set(Floats(), 255.0f)));
}

struct ScalarCodes {
  Word mu8, sg8;
};

// The chunk's centre and scalar. Dividing keeps order, so the extremes of xn are those of x.
HWY_INLINE ScalarCodes chunk_scalars(HalfState& half, Float least, Float largest, Float sum, float count,
                                     const LynxCoding& coding) {
  const Float low = divided(least, half), high = divided(largest, half);
  const Float centre = coding.centre == LynxCentre::mid ? hn::Mul(hn::Add(low, high), hn::Set(Floats(), 0.5f))
                                                        : hn::Div(sum, hn::Set(Floats(), count));
  const Float scaled = hn::Add(hn::Mul(centre, hn::Set(Floats(), 255.0f)), hn::Set(Floats(), 0.5f));
  ScalarCodes codes;
  codes.mu8 = floor_of(hn::Min(scaled, hn::Set(Floats(), 255.0f)));
  const Float mu = hn::Div(float_of(codes.mu8), hn::Set(Floats(), 255.0f));
  half.minus_mu = hn::Sub(hn::Zero(Floats()), mu);  // never -0: then d is never -0 either
  const Float s = hn::Max(hn::Abs(hn::Sub(low, mu)), hn::Abs(hn::Sub(high, mu)));
  codes.sg8 = coding.sigma == LynxSigma::log ? log_scalar(s, coding.tables.scalar) : linear_scalar(s);
  half.sg = scalar_value(codes.sg8, coding);
  half.per_sg = reciprocal_or_zero(half.sg);
  return codes;
}

// What the fit tries next for one half: a centre, and the two scalars that it may have.
struct Trial {
  Float minus_mu, sg, wider_sg;
  Word mu8, sg8, wider_sg8;
};

HWY_INLINE Trial trial_of(Float mu8, Float low, Float high, const LynxCoding& coding) {
  Trial trial;
  trial.mu8 = floor_of(mu8);
  const Float mu = hn::Div(mu8, hn::Set(Floats(), 255.0f));
  trial.minus_mu = hn::Sub(hn::Zero(Floats()), mu);
  const Float s = hn::Max(hn::Abs(hn::Sub(low, mu)), hn::Abs(hn::Sub(high, mu)));
  const bool log = coding.sigma == LynxSigma::log;
  trial.sg8 = log ? log_scalar(s, coding.tables.scalar) : linear_scalar(s);
  const Word one = hn::Set(Words(), 1), end = hn::Set(Words(), log ? 0 : 255);
  const auto stays = hn::Or(hn::Eq(trial.sg8, end), hn::RebindMask(Words(), hn::Eq(s, hn::Zero(Floats()))));
  trial.wider_sg8 = hn::IfThenElse(stays, trial.sg8, log ? hn::Sub(trial.sg8, one) : hn::Add(trial.sg8, one));
  trial.sg = scalar_value(trial.sg8, coding);
  trial.wider_sg = scalar_value(trial.wider_sg8, coding);
  return trial;
}

HWY_INLINE Float steps_or_zero(Float sg, Float steps) {
  return hn::IfThenElseZero(hn::Gt(sg, hn::Zero(Floats())), hn::Div(steps, sg));
}

struct Misses {
  Float narrow, wide;  // sums of lynx_fit_miss squared
};

HWY_INLINE Float miss(Float size, Float per) {
  const Float v = hn::Mul(size, per);
  return hn::Sub(v, hn::Max(hn::Round(v), hn::Set(Floats(), 0.25f)));
}

// One trial's part of the sums.
struct Measure {
  Float minus_mu, narrow, wide;
  Misses sum{hn::Zero(Floats()), hn::Zero(Floats())};

  HWY_INLINE Measure(const Trial& trial, Float steps)
      : minus_mu(trial.minus_mu), narrow(steps_or_zero(trial.sg, steps)), wide(steps_or_zero(trial.wider_sg, steps)) {}
  HWY_INLINE void add(Float xn) {
    const Float size = hn::Abs(hn::Add(xn, minus_mu));
    const Float a = miss(size, narrow), b = miss(size, wide);
    sum.narrow = hn::Add(sum.narrow, hn::Mul(a, a));
    sum.wide = hn::Add(sum.wide, hn::Mul(b, b));
  }
};

// Among the trials of lynx_fit_shift the one of least error: LynxFit::least_error. xn: [count] vectors, aligned.
// Sets what chunk_scalars sets; `codes` comes from there.
HWY_NOINLINE ScalarCodes fitted_scalars(HalfState& half, ScalarCodes codes, Float least, Float largest, const float* xn,
                                        int count, const LynxCoding& coding) {
  const Float low = divided(least, half), high = divided(largest, half);
  const Float first = float_of(codes.mu8), steps = hn::Set(Floats(), lynx_fit_steps(coding.tables.levels));
  Float best = hn::Set(Floats(), std::numeric_limits<float>::infinity());
  const auto centre_of = [&](int number) { return hn::Add(first, hn::Set(Floats(), static_cast<float>(lynx_fit_shift(number)))); };
  const auto trial_number = [&](int number) {
    const Float mu8 = hn::Min(hn::Max(centre_of(number), hn::Zero(Floats())), hn::Set(Floats(), 255.0f));
    return trial_of(mu8, low, high, coding);
  };
  const auto consider = [&](const Trial& trial, const Misses& sum, int number) {
    const Float mu8 = centre_of(number);
    const auto inside = hn::And(hn::Ge(mu8, hn::Zero(Floats())), hn::Le(mu8, hn::Set(Floats(), 255.0f)));
    const auto look_at = [&](Float misses, Float sg, Word sg8) {
      const Float error = hn::Mul(hn::Mul(misses, sg), sg);
      const auto better = hn::And(inside, hn::Lt(error, best));
      best = hn::IfThenElse(better, error, best);
      half.minus_mu = hn::IfThenElse(better, trial.minus_mu, half.minus_mu);
      half.sg = hn::IfThenElse(better, sg, half.sg);
      const auto words = hn::RebindMask(Words(), better);
      codes.mu8 = hn::IfThenElse(words, trial.mu8, codes.mu8);
      codes.sg8 = hn::IfThenElse(words, sg8, codes.sg8);
    };
    look_at(sum.narrow, trial.sg, trial.sg8);
    look_at(sum.wide, trial.wider_sg, trial.wider_sg8);
  };
  // All trials' terms first: each is a long chain of its own. Then all sums side by side, which do not wait for each
  // other.
  static_assert(lynx_fit_trials == 3);
  const Trial trials[] = {trial_number(0), trial_number(1), trial_number(2)};
  Measure first_sum{trials[0], steps}, lower{trials[1], steps}, higher{trials[2], steps};
  for (int i = 0; i < count; ++i) {
    const Float x = hn::Load(Floats(), xn + static_cast<std::size_t>(i) * hn::Lanes(Floats()));
    first_sum.add(x);
    lower.add(x);
    higher.add(x);
  }
  consider(trials[0], first_sum.sum, 0);
  consider(trials[1], lower.sum, 1);
  consider(trials[2], higher.sum, 2);
  half.per_sg = reciprocal_or_zero(half.sg);
  return codes;
}
#endif

}  // namespace lynxkv::kernels::strips::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
