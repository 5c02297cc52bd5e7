// Rotary position embedding over halves: the pair (x[i], x[i + rotary_dim/2]) of a head turns by
// position * frequency[i]. And the store of finished K and V rows into the pages that hold them.
#pragma once

#include <span>

#include "kernels/element.hpp"

namespace lynxkv::kernels {

// cosines, sines [positions][frequencies]. The angle is the float32 product, as the published models compute
// it.
void rope_angles(std::span<const int> positions, std::span<const float> frequencies, float* cosines,
                 float* sines);

// In place over `heads` heads that lie side by side: x [rows] of row_stride floats, each [heads][head_dim].
// cosines, sines [rows][rotary_dim / 2]; channels from rotary_dim on stay.
void rope(int rows, float* x, int row_stride, int heads, int head_dim, int rotary_dim, const float* cosines,
          const float* sines);

// Copies x [rows] of row_stride floats, `columns` of each, to the places `out` [rows] as `element`.
void store_rows(int rows, const float* x, int row_stride, int columns, Element element, void* const* out);

}  // namespace lynxkv::kernels
