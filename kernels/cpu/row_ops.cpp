// The element-wise ops: rows dispatched over the threads, a few at a time.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/row_kernels.hpp"
#include "kernels/parallel.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"

namespace lynxkv::kernels {
namespace {

// Rows a task takes; fewer rows than this are not worth waking another thread for.
constexpr int rows_per_task = 16;

template <class Body>
void for_rows(int rows, Body&& body) {
  parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](int task, int) {
    const int end = std::min(rows, (task + 1) * rows_per_task);
    for (int row = task * rows_per_task; row < end; ++row) body(static_cast<std::size_t>(row));
  });
}

}  // namespace

void rms_norm(int rows, int columns, const float* x, const float* weight, float epsilon, Element element,
              void* out) {
  const auto width = static_cast<std::size_t>(columns);
  for_rows(rows, [&](std::size_t row) {
    if (element == Element::bf16) {
      rms_norm_row(columns, x + row * width, weight, epsilon, static_cast<Bf16*>(out) + row * width);
    } else {
      rms_norm_row(columns, x + row * width, weight, epsilon, static_cast<float*>(out) + row * width);
    }
  });
}

void swiglu(int rows, int columns, const float* gate_up, Element element, void* out) {
  const auto width = static_cast<std::size_t>(columns);
  for_rows(rows, [&](std::size_t row) {
    const float* gate = gate_up + row * 2 * width;
    if (element == Element::bf16) {
      swiglu_row(columns, gate, gate + width, static_cast<Bf16*>(out) + row * width);
    } else {
      swiglu_row(columns, gate, gate + width, static_cast<float*>(out) + row * width);
    }
  });
}

void rope_angles(std::span<const int> positions, std::span<const float> frequencies, float* cosines,
                 float* sines) {
  for_rows(static_cast<int>(positions.size()), [&](std::size_t row) {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<float>(positions[row]) * frequencies[i];
      cosines[row * frequencies.size() + i] = static_cast<float>(std::cos(angle));
      sines[row * frequencies.size() + i] = static_cast<float>(std::sin(angle));
    }
  });
}

void rope(int rows, float* x, int row_stride, int heads, int head_dim, int rotary_dim, const float* cosines,
          const float* sines) {
  const int half = rotary_dim / 2;
  for_rows(rows, [&](std::size_t row) {
    float* head = x + row * static_cast<std::size_t>(row_stride);
    const std::size_t angle = row * static_cast<std::size_t>(half);
    for (int h = 0; h < heads; ++h, head += head_dim) rope_head(head, half, cosines + angle, sines + angle);
  });
}

void store_rows(int rows, const float* x, int row_stride, int columns, Element element, void* const* out) {
  for_rows(rows, [&](std::size_t row) {
    const float* from = x + row * static_cast<std::size_t>(row_stride);
    if (element == Element::bf16) {
      store_row(columns, from, static_cast<Bf16*>(out[row]));
    } else {
      std::memcpy(out[row], from, static_cast<std::size_t>(columns) * sizeof(float));
    }
  });
}

}  // namespace lynxkv::kernels
