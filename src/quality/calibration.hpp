// Which codec options suit a model's KV: tried one after another on real pages, K and V apart, by the draft's squared
// error. No model is run for it, so hundreds of pages take seconds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codec/codec.hpp"
#include "quality/distortion.hpp"

namespace lynxkv::quality {

struct Tried {
  std::string option;  // "alpha", ...
  std::string value;
  double nmse_k = 0, nmse_v = 0;  // of the draft
  double bits = 0;                // an element, of the anchor
  bool best_k = false, best_v = false;
};

struct Calibration {
  codec::CodecOptions start, chosen;
  std::vector<Tried> tried;  // in the order tried
  Distortion start_k, start_v, chosen_k, chosen_v;
  double start_bits = 0, chosen_bits = 0;
};

// `captures`: not empty. Alpha is chosen for K and for V; levels and centre for both together (by the sum of their
// NMSE). Options that trade bits for error (sinks, chunks of V, early residuals) stay as `start` has them. Throws what
// the codec finds wrong with options or pages.
Calibration calibrate(std::span<const Capture> captures, const codec::CodecOptions& start);

// Alphas that are tried.
std::span<const float> calibration_alphas() noexcept;

}  // namespace lynxkv::quality
