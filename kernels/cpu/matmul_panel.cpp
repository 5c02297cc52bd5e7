#include "kernels/cpu/matmul_panel.hpp"

#include "kernels/cpu/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul_panel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
// Registers: row_step x 2 sums, two columns of W and one broadcast.
constexpr int row_step = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 ? 12 : 6;

// `row_count` rows by two vectors of outputs, from `column` of the panel on.
template <int row_count, class Stored>
HWY_INLINE void multiply_tile(const PanelRows& rows, int first_row, int column, const Stored* panel) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto inputs = static_cast<std::size_t>(rows.inputs);
  const float* x = rows.x + static_cast<std::size_t>(first_row) * inputs;
  hn::Vec<Floats> low[row_count], high[row_count];
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) low[r] = high[r] = hn::Zero(d);
  const Stored* w = panel + column;
  for (std::size_t i = 0; i < inputs; ++i, w += panel_columns) {
    const auto w_low = load(d, w);
    const auto w_high = load(d, w + lanes);
    LYNXKV_UNROLL
    for (int r = 0; r < row_count; ++r) {
      const auto value = hn::Set(d, x[static_cast<std::size_t>(r) * inputs + i]);
      low[r] = hn::MulAdd(value, w_low, low[r]);
      high[r] = hn::MulAdd(value, w_high, high[r]);
    }
  }
  LYNXKV_UNROLL
  for (int r = 0; r < row_count; ++r) {
    HWY_ALIGN float sums[2 * hn::MaxLanes(d)];
    hn::Store(low[r], d, sums);
    hn::Store(high[r], d, sums + lanes);
    float* y =
        rows.y + static_cast<std::size_t>(first_row + r) * static_cast<std::size_t>(rows.y_stride) + column;
    const int count = rows.columns - column < 2 * lanes ? rows.columns - column : 2 * lanes;
    for (int c = 0; c < count; ++c) y[c] = rows.add ? y[c] + sums[c] : sums[c];
  }
}

template <class Stored>
HWY_INLINE void multiply(const PanelRows& rows, const Stored* panel) {
  const int step = 2 * static_cast<int>(hn::Lanes(Floats()));
  for (int column = 0; column < rows.columns; column += step) {
    int row = 0;
    for (; row + row_step <= rows.rows; row += row_step) multiply_tile<row_step>(rows, row, column, panel);
    for (; row + 4 <= rows.rows; row += 4) multiply_tile<4>(rows, row, column, panel);
    for (; row + 2 <= rows.rows; row += 2) multiply_tile<2>(rows, row, column, panel);
    for (; row < rows.rows; ++row) multiply_tile<1>(rows, row, column, panel);
  }
}

void multiply_bf16(const PanelRows& rows, const Bf16* panel) {
  multiply(rows, panel);
}
void multiply_f32(const PanelRows& rows, const float* panel) {
  multiply(rows, panel);
}

}  // namespace lynxkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels {

HWY_EXPORT(multiply_bf16);
HWY_EXPORT(multiply_f32);

void multiply_panel(const PanelRows& rows, const Bf16* panel) {
  HWY_DYNAMIC_DISPATCH(multiply_bf16)(rows, panel);
}
void multiply_panel(const PanelRows& rows, const float* panel) {
  HWY_DYNAMIC_DISPATCH(multiply_f32)(rows, panel);
}

}  // namespace lynxkv::kernels
#endif
