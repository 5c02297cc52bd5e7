// The largest of a row of numbers.
#pragma once

namespace lynxkv::kernels {

// Index of the largest of x [count], count > 0; ties go to the lowest index, a NaN is never the largest.
int argmax(int count, const float* x);

}  // namespace lynxkv::kernels
