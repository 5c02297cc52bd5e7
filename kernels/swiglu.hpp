// SwiGLU: out = gate / (1 + exp(-gate)) * up.
#pragma once

#include "kernels/element.hpp"

namespace lynxkv::kernels {

// gate_up [rows][2 * columns]: the gates, then the ups, of each row   out [rows][columns] of `element`
void swiglu(int rows, int columns, const float* gate_up, Element element, void* out);

}  // namespace lynxkv::kernels
