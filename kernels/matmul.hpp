// Matmul: y = x W^T (or y += x W^T) for a weight matrix that is packed once and kept only in packed form.
//   W [outputs][inputs]   x [rows][inputs], of the same element as W   y [rows][outputs] float32
// A row of y depends on its row of x and on W alone, bit for bit: not on how many rows run with it, on its
// place among them, or on the number of threads. Every path keeps that in its own way (cpu/matmul_*.cpp).
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/element.hpp"

namespace lynxkv::kernels {

// Rows for which x and y must have room when `rows` are run: kernels are built for a few heights only, and
// the rows behind the last one are computed and ignored. x's surplus rows are read, y's are written.
int padded_rows(int rows) noexcept;

class MatmulBody;

class Matmul {
 public:
  // W starts as zeros. The path follows runtime_isa().
  Matmul(int outputs, int inputs, Element element);
  ~Matmul();
  Matmul(Matmul&&) noexcept;
  Matmul& operator=(Matmul&&) noexcept;

  int outputs() const noexcept { return outputs_; }
  int inputs() const noexcept { return inputs_; }
  Element element() const noexcept { return element_; }
  std::size_t weight_bytes() const noexcept;

  // Sets rows [first_output, first_output + count) of W from [count][inputs] floats, rounded to element().
  // Disjoint rows may be set by several threads at once.
  void pack_rows(int first_output, int count, const float* weights);
  // Row `output` of W, as floats. (An embedding that is also the output matrix is looked up in it.)
  void unpack_row(int output, float* out) const;

  // See padded_rows(). `add`: y += instead of y =.
  void run(int rows, const void* x, float* y, bool add = false) const;

 private:
  int outputs_;
  int inputs_;
  Element element_;
  std::unique_ptr<MatmulBody> body_;
};

}  // namespace lynxkv::kernels
