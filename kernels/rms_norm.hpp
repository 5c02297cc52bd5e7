// RMS norm: out = x / sqrt(mean(x^2) + epsilon) * weight, row by row.
#pragma once

#include "kernels/element.hpp"

namespace lynxkv::kernels {

// x [rows][columns]   weight [columns]   out [rows][columns] of `element`; may not overlap x
void rms_norm(int rows, int columns, const float* x, const float* weight, float epsilon, Element element,
              void* out);

}  // namespace lynxkv::kernels
