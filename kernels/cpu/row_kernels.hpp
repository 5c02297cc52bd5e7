// One row of the element-wise kernels, vectorised for the CPU at hand; the ops dispatch rows over threads.
#pragma once

#include "base/bf16.hpp"

namespace lynxkv::kernels {

void rms_norm_row(int columns, const float* x, const float* weight, float epsilon, Bf16* out);
void rms_norm_row(int columns, const float* x, const float* weight, float epsilon, float* out);
void rope_head(float* head, int half, const float* cosines, const float* sines);
void store_row(int columns, const float* x, Bf16* out);
void swiglu_row(int columns, const float* gate, const float* up, Bf16* out);
void swiglu_row(int columns, const float* gate, const float* up, float* out);

}  // namespace lynxkv::kernels
