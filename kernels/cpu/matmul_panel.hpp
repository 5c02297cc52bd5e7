// The inner part of the panel matmul: rows of x against one panel of W.
//   panel [inputs][panel_columns]: element (i, c) is W[first output of the panel + c][i]
// Each y is one chain of multiply-adds over the inputs in ascending order, whatever the blocking around it:
// that is what makes a row's result its own.
#pragma once

#include "base/bf16.hpp"

namespace lynxkv::kernels {

inline constexpr int panel_columns = 32;

struct PanelRows {
  const float* x;  // [rows][inputs]
  float* y;        // [rows] of stride y_stride; the panel's `columns` outputs
  int rows;
  int inputs;
  int y_stride;
  int columns;  // 1 .. panel_columns: the last panel may be narrower
  bool add;
};

void multiply_panel(const PanelRows& rows, const Bf16* panel);
void multiply_panel(const PanelRows& rows, const float* panel);

}  // namespace lynxkv::kernels
