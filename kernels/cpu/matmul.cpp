#include "kernels/matmul.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "kernels/cpu/matmul_body.hpp"
#include "kernels/runtime.hpp"

namespace lynxkv::kernels {

int matmul_height(int rows) noexcept {
  LYNXKV_CHECK(rows > 0 && rows <= matmul_heights.back());
  return *std::lower_bound(matmul_heights.begin(), matmul_heights.end(), rows);
}

int padded_rows(int rows) noexcept {
  constexpr int largest = matmul_heights.back();
  if (rows <= 0) return 0;
  const int whole = rows / largest * largest;
  const int rest = rows - whole;
  if (rest == 0) return whole;
  return whole + std::max(matmul_height(rest), (rest + amx_tile_rows - 1) / amx_tile_rows * amx_tile_rows);
}

Matmul::Matmul(int outputs, int inputs, Element element)
    : outputs_(outputs), inputs_(inputs), element_(element) {
  LYNXKV_CHECK(outputs > 0 && inputs > 0);
  ensure_runtime();
  const Isa isa = runtime_isa();
  const bool onednn = element == Element::bf16 ? isa <= Isa::avx512_bf16 : isa <= Isa::avx512;
  body_ = onednn ? make_onednn_matmul(outputs, inputs, element, isa == Isa::amx && element == Element::bf16)
                 : make_panel_matmul(outputs, inputs, element);
}

Matmul::~Matmul() = default;
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;

std::size_t Matmul::weight_bytes() const noexcept {
  return body_->weight_bytes();
}

void Matmul::pack_rows(int first_output, int count, const float* weights) {
  LYNXKV_CHECK(first_output >= 0 && count >= 0 && count <= outputs_ - first_output);
  body_->pack_rows(first_output, count, weights);
}

void Matmul::unpack_row(int output, float* out) const {
  LYNXKV_CHECK(output >= 0 && output < outputs_);
  body_->unpack_row(output, out);
}

void Matmul::run(int rows, const void* x, float* y, bool add) const {
  const auto* in = static_cast<const std::byte*>(x);
  const std::size_t row_bytes = static_cast<std::size_t>(inputs_) * bytes_of(element_);
  for (int done = 0; done < rows; done += matmul_heights.back()) {
    const int now = std::min(rows - done, matmul_heights.back());
    body_->run(now, in + static_cast<std::size_t>(done) * row_bytes,
               y + static_cast<std::size_t>(done) * static_cast<std::size_t>(outputs_), add);
  }
}

}  // namespace lynxkv::kernels
