// The arithmetic of the plain integer codecs, one value at a time, for host and device: float32, in the order
// written, no contraction.
#pragma once

#include <cstdint>

#include "base/bf16.hpp"
#include "base/host_device.hpp"
#include "kernels/codec_math.hpp"

namespace lynxkv::kernels {

struct UniformScale {
  Bf16 lo;
  Bf16 step;
};

// largest_code: 15 or 255. Neither field is ever -0.
LYNXKV_HOST_DEVICE inline UniformScale uniform_scale(Bf16 least, Bf16 largest, int largest_code) {
  const float range = to_float(largest) - to_float(least);
  const float step = range / static_cast<float>(largest_code);
  return {without_negative_zero(least), without_negative_zero(to_bf16_up(step))};
}

LYNXKV_HOST_DEVICE inline int uniform_code(Bf16 x, float lo, float step, int largest_code) {
  if (!(step > 0.0f)) return 0;
  const float scaled = (to_float(x) - lo) / step;
  const int code = static_cast<int>(scaled + 0.5f);  // not negative, so the conversion is a floor
  return code < 0 ? 0 : code > largest_code ? largest_code : code;
}

LYNXKV_HOST_DEVICE inline Bf16 uniform_value(int code, float lo, float step) {
  const float above = static_cast<float>(code) * step;
  return to_bf16(above + lo);
}

}  // namespace lynxkv::kernels
