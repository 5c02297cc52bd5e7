// Tables of the `lynx` codec, and the approximation that the vector kernels guess magnitudes with.
#include <cmath>
#include <cstring>

#include "base/check.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::kernels {
namespace {

constexpr double pi = 3.14159265358979323846;

LynxTables make_tables(float alpha, int levels, LynxSigma sigma) {
  const double wide_alpha = alpha;
  const double log_alpha = std::log1p(wide_alpha);
  LynxTables tables = {};
  tables.levels = levels;
  for (int k = 0; k <= levels; ++k) {
    tables.level[k] = static_cast<float>(std::expm1(static_cast<double>(k) / levels * log_alpha) / wide_alpha);
    if (k > 0) tables.threshold[k] = static_cast<float>(std::expm1((k - 0.5) / levels * log_alpha) / wide_alpha);
  }
  for (int a = 0; a < 8; ++a) tables.draft[a] = tables.level[a == 0 ? 4 : a * 16 < levels ? a * 16 : levels];
  for (int k = 0; k < 255; ++k)
    tables.scalar[k] = sigma == LynxSigma::log ? static_cast<float>(std::exp2(-k / 16.0)) : static_cast<float>(k) / 255.0f;
  tables.scalar[255] = sigma == LynxSigma::log ? 0.0f : 1.0f;
  return tables;
}

// Monomial coefficients of the polynomial that meets `f` at the Chebyshev nodes of [0, 1].
template <class F>
void fit(F f, int degree, float* coefficient) {
  double node[8], divided[8], power[8] = {};
  for (int i = 0; i <= degree; ++i) {
    node[i] = 0.5 + 0.5 * std::cos(pi * (2 * i + 1) / (2 * (degree + 1)));
    divided[i] = f(node[i]);
  }
  for (int order = 1; order <= degree; ++order)
    for (int i = degree; i >= order; --i) divided[i] = (divided[i] - divided[i - 1]) / (node[i] - node[i - order]);
  for (int i = degree; i >= 0; --i) {  // Newton's form to powers
    for (int j = degree; j > 0; --j) power[j] = power[j - 1] - node[i] * power[j];
    power[0] = divided[i] - node[i] * power[0];
  }
  for (int i = 0; i <= degree; ++i) coefficient[i] = static_cast<float>(power[i]);
}

// What a kernel computes, with or without fused operations.
float evaluate(const LynxGuess& guess, float alpha, float u, bool fused) {
  const auto muladd = [fused](float a, float b, float c) { return fused ? std::fma(a, b, c) : a * b + c; };
  float t = u, exponent = 0;
  if (guess.of_logarithm) {
    const float v = muladd(u, alpha, 1.0f);
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    exponent = static_cast<float>(static_cast<int>(bits >> 23) - 127);
    bits = (bits & 0x7fffffu) | 0x3f800000u;
    std::memcpy(&t, &bits, sizeof t);
    t -= 1.0f;
  }
  float sum = guess.coefficient[guess.degree];
  for (int i = guess.degree - 1; i >= 0; --i) sum = muladd(sum, t, guess.coefficient[i]);
  return guess.of_logarithm ? (exponent + sum) * guess.scale : sum;
}

// The guess's largest error over many u, its own rounding included. The factor covers points not sampled; the last
// term covers the kernel's u (a reciprocal instead of a division) and the rounding of the thresholds.
float safe_distance(const LynxGuess& guess, const LynxTables& tables, float alpha) {
  const double wide_alpha = alpha;
  const double per_log = tables.levels / std::log1p(wide_alpha);
  double worst = 0;
  const auto look_at = [&](float u) {
    const double right = std::log1p(wide_alpha * u) * per_log;
    for (const bool fused : {false, true})
      worst = std::fmax(worst, std::fabs(static_cast<double>(evaluate(guess, alpha, u, fused)) - right));
  };
  for (int i = 0; i <= 4096; ++i) look_at(static_cast<float>(i) / 4096.0f);
  for (int k = 1; k <= tables.levels; ++k)
    for (const float near_by : {0.999999f, 0.9999997f, 1.0f, 1.0000002f, 1.000001f}) look_at(tables.threshold[k] * near_by);
  return static_cast<float>(1.5 * worst + per_log * wide_alpha / (1 + wide_alpha) * std::ldexp(1.0, -22));
}

LynxGuess make_guess(const LynxTables& tables, float alpha) {
  const double wide_alpha = alpha;
  const double per_log = tables.levels / std::log1p(wide_alpha);
  constexpr float good_enough = 4e-4f;  // one vector of sixteen in eighty then asks the tables
  LynxGuess guess;
  for (const int degree : {3, 5, 7}) {
    guess.degree = degree;
    fit([&](double u) { return std::log1p(wide_alpha * u) * per_log; }, degree, guess.coefficient);
    guess.near = safe_distance(guess, tables, alpha);
    if (guess.near <= good_enough) return guess;
  }
  guess.of_logarithm = true;
  guess.scale = static_cast<float>(tables.levels / std::log2(1 + wide_alpha));
  fit([](double t) { return std::log2(1 + t); }, 7, guess.coefficient);
  guess.near = safe_distance(guess, tables, alpha);
  LYNXKV_CHECK(guess.near < 0.01f);
  return guess;
}

}  // namespace

LynxCoding make_lynx_coding(float alpha, int levels, LynxCentre centre, LynxSigma sigma, LynxFit fit) {
  LYNXKV_CHECK(alpha >= 0.001f && alpha <= 1000.0f);
  LYNXKV_CHECK(levels == 112 || levels == 120);
  LynxCoding coding;
  coding.tables = make_tables(alpha, levels, sigma);
  coding.guess = make_guess(coding.tables, alpha);
  coding.alpha = alpha;
  coding.centre = centre;
  coding.sigma = sigma;
  coding.fit = fit;
  for (int anchor = 0; anchor < 16; ++anchor) {
    coding.signed_draft[anchor] = lynx_draft_magnitude(anchor, coding.tables);
    for (int residual = 0; residual < 16; ++residual)
      coding.signed_level[anchor << 4 | residual] = lynx_full_magnitude(anchor, residual, coding.tables);
  }
  for (int i = 0; i < 128; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &coding.signed_level[i], sizeof bits);
    coding.level_upper[i] = static_cast<std::uint16_t>(bits >> 16);
    coding.level_lower[i] = static_cast<std::uint16_t>(bits & 0xffffu);
  }
  return coding;
}

}  // namespace lynxkv::kernels
