// The paths behind Matmul on the CPU.
//   oneDNN   bf16 where the CPU has AMX or AVX-512 BF16, float32 where it has AVX-512
//   panels   our own kernel, for bf16 on other CPUs (oneDNN emulates it slowly or not at all) and float32 on
//            AVX2 (oneDNN's sums depend on the number of rows there)
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "kernels/element.hpp"

namespace lynxkv::kernels {

class MatmulBody {
 public:
  virtual ~MatmulBody() = default;
  virtual std::size_t weight_bytes() const noexcept = 0;
  virtual void pack_rows(int first_output, int count, const float* weights) = 0;
  virtual void unpack_row(int output, float* out) const = 0;
  // At most the largest height at a time; x and y have room for padded_rows(rows).
  virtual void run(int rows, const void* x, float* y, bool add) const = 0;
};

// Heights that kernels are built for: few, so that they are built once, and close, so that little is wasted.
inline constexpr std::array matmul_heights = {1,  2,  3,  4,  5,  6,  7,  8,  10,  12,  14,  16,  20,  24, 28,
                                              32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 256};
// AMX kernels change their sums with the height: they run in tiles of this many rows, always.
inline constexpr int amx_tile_rows = 32;

int matmul_height(int rows) noexcept;  // the smallest height that holds `rows`, which are 1 .. 256

std::unique_ptr<MatmulBody> make_onednn_matmul(int outputs, int inputs, Element element, bool fixed_height);
std::unique_ptr<MatmulBody> make_panel_matmul(int outputs, int inputs, Element element);

}  // namespace lynxkv::kernels
