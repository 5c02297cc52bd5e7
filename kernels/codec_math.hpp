// The arithmetic of the `lynx` page codec, one value at a time: the single source that the plain reference, the
// vector kernels' rare paths and device kernels share. IEEE float32, round to nearest, in the order written; the
// build forbids contraction, so every back end gives the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bf16.hpp"
#include "base/host_device.hpp"

namespace lynxkv::kernels {

constexpr int lynx_max_levels = 120;

enum class LynxCentre : std::uint8_t { mid = 0, mean = 1 };
enum class LynxSigma : std::uint8_t { log = 0, linear = 1 };
enum class LynxFit : std::uint8_t { extremes = 0, least_error = 1 };

// What depends on alpha, the number of levels and the scalars' mode only; made by make_lynx_tables.
struct LynxTables {
  int levels;                            // L: 112 or 120
  float level[lynx_max_levels + 1];      // [k], k = 0 .. L: the magnitude that m = k decodes to
  float threshold[lynx_max_levels + 1];  // [k], k = 1 .. L: the least u that gives m >= k; [0] is 0
  float draft[8];                        // [a]: the magnitude that the anchor alone decodes to
  float scalar[256];                     // [sg8]: the chunk scalar's value, log or linear
};

// gmin and gscale of a channel. Neither is ever -0.
struct LynxScale {
  Bf16 gmin;
  Bf16 gscale;
};

LYNXKV_HOST_DEVICE inline Bf16 without_negative_zero(Bf16 x) { return x.bits == 0x8000u ? Bf16{0} : x; }

// 2^126 and beyond: the range of such a page may overflow, so it travels raw.
LYNXKV_HOST_DEVICE inline bool lynx_needs_raw(Bf16 x) { return (x.bits & 0x7fffu) >= 0x7e80u; }

LYNXKV_HOST_DEVICE inline LynxScale lynx_scale(Bf16 least, Bf16 largest) {
  const float range = to_float(largest) - to_float(least);
  return {without_negative_zero(least), without_negative_zero(to_bf16_up(range))};
}

// In [0, 1]: gscale was rounded up.
LYNXKV_HOST_DEVICE inline float lynx_normalise(Bf16 x, float gmin, float gscale) {
  return gscale > 0.0f ? (to_float(x) - gmin) / gscale : 0.0f;
}

LYNXKV_HOST_DEVICE inline std::uint8_t lynx_centre_code(float centre) {
  const float scaled = centre * 255.0f + 0.5f;  // not negative, so the conversion is a floor
  const int code = static_cast<int>(scaled);
  return static_cast<std::uint8_t>(code < 0 ? 0 : code > 255 ? 255 : code);
}

LYNXKV_HOST_DEVICE inline float lynx_centre_value(std::uint8_t mu8) { return static_cast<float>(mu8) / 255.0f; }

// The largest k in 0 .. 254 whose value is at least s, 255 (value 0) where s is 0. s <= 1.
LYNXKV_HOST_DEVICE inline std::uint8_t lynx_log_scalar(float s, const float* scalar) {
  if (!(s > 0.0f)) return 255;
  std::uint32_t bits;
  memcpy(&bits, &s, sizeof bits);
  int k = 16 * (126 - static_cast<int>(bits >> 23));  // its value is the power of two above s
  k = k < 0 ? 0 : k > 254 ? 254 : k;
  while (k < 254 && scalar[k + 1] >= s) ++k;
  return static_cast<std::uint8_t>(k);
}

LYNXKV_HOST_DEVICE inline std::uint8_t lynx_linear_scalar(float s) {
  const float scaled = s * 255.0f;
  int code = static_cast<int>(scaled);
  if (static_cast<float>(code) < scaled) ++code;  // ceil
  return static_cast<std::uint8_t>(code > 255 ? 255 : code);
}

LYNXKV_HOST_DEVICE inline std::uint8_t lynx_scalar_code(float s, LynxSigma sigma, const float* scalar) {
  return sigma == LynxSigma::log ? lynx_log_scalar(s, scalar) : lynx_linear_scalar(s);
}

// LynxFit::least_error, what an encoder may do with a chunk's two scalars; a decoder sees no difference. Trials in this
// order: the centre code moved by lynx_fit_shift(i), where that stays in 0 .. 255; with each, the scalar code that
// lynx_scalar_code gives for s = max(|low - mu|, |high - mu|), then the next larger scalar (lynx_wider_scalar). Each
// trial's error is (sum * sg) * sg, with sum over the chunk's tokens in order of m * m, m = lynx_fit_miss(|xn - mu|, per),
// per = lynx_fit_steps(L) / sg (0 where sg is 0). The first trial of least error is taken. No value gets clipped, so
// the full level keeps its precision. The measure takes the levels for evenly spaced: it is meant for alpha up to 0.3.
constexpr int lynx_fit_trials = 3;
LYNXKV_HOST_DEVICE inline int lynx_fit_shift(int trial) {  // 0, -3, 3
  const int distance = (trial + 1) / 2 * 3;
  return trial % 2 == 1 ? -distance : distance;
}
// Steps of the anchor from 0 to the scalar.
LYNXKV_HOST_DEVICE inline float lynx_fit_steps(int levels) { return static_cast<float>(levels) / 16.0f; }

// How far |xn - mu| is from the anchor's nearest value, in steps. The lowest value is a quarter step.
LYNXKV_HOST_DEVICE inline float lynx_fit_miss(float size, float per) {
  const float v = size * per;
  const float shifted = v + 12582912.0f;  // 1.5 * 2^23: rounds to the nearest integer, ties to even
  const float a = shifted - 12582912.0f;
  return v - (a > 0.25f ? a : 0.25f);
}

// The next larger scalar's code, or the same one where there is none or the chunk has no spread (s = 0).
LYNXKV_HOST_DEVICE inline std::uint8_t lynx_wider_scalar(std::uint8_t sg8, float s, LynxSigma sigma) {
  const int end = sigma == LynxSigma::log ? 0 : 255;
  if (sg8 == end || !(s > 0.0f)) return sg8;
  return static_cast<std::uint8_t>(sigma == LynxSigma::log ? sg8 - 1 : sg8 + 1);
}

// u = min(|d| / sg, 1); 0 where the chunk has no spread.
LYNXKV_HOST_DEVICE inline float lynx_ratio(float size, float sg) {
  const float u = sg > 0.0f ? size / sg : 0.0f;
  return u < 1.0f ? u : 1.0f;
}

// m: the number of thresholds that are at most u, stepped to from any guess in 0 .. L.
LYNXKV_HOST_DEVICE inline int lynx_magnitude(float u, const LynxTables& tables, int guess) {
  int m = guess;
  while (m < tables.levels && tables.threshold[m + 1] <= u) ++m;
  while (m > 0 && tables.threshold[m] > u) --m;
  return m;
}

// The two nibbles of one value.
struct LynxCode {
  std::uint8_t anchor;    // a, or ~a for a negative value: sixteen codes, all used
  std::uint8_t residual;  // r = 16 a - m, two's complement
};

LYNXKV_HOST_DEVICE inline LynxCode lynx_split(int m, bool negative) {
  const int a = (m + 7) >> 4;
  const int r = 16 * a - m;
  return {static_cast<std::uint8_t>((negative ? ~a : a) & 15), static_cast<std::uint8_t>(r & 15)};
}

// The signed magnitude of an anchor nibble alone.
LYNXKV_HOST_DEVICE inline float lynx_draft_magnitude(int anchor, const LynxTables& tables) {
  return anchor < 8 ? tables.draft[anchor] : -tables.draft[15 - anchor];
}

// The signed magnitude of both nibbles. Pairs that no encoder writes are held inside the table.
LYNXKV_HOST_DEVICE inline float lynx_full_magnitude(int anchor, int residual, const LynxTables& tables) {
  const int a = anchor < 8 ? anchor : 15 - anchor;
  int m = 16 * a - (residual < 8 ? residual : residual - 16);
  m = m < 0 ? 0 : m > tables.levels ? tables.levels : m;
  return anchor < 8 ? tables.level[m] : -tables.level[m];
}

LYNXKV_HOST_DEVICE inline Bf16 lynx_value(float magnitude, float sg, float mu, float gscale, float gmin) {
  const float d = magnitude * sg;
  const float xn = d + mu;
  const float x = xn * gscale;
  return to_bf16(x + gmin);
}

}  // namespace lynxkv::kernels
