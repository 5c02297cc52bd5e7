// One page tensor that lies on the host, coded on the GPU: uploads, runs, downloads and waits. The same signatures and
// bytes as kernels/codec.hpp; for command lines and tests, not for the data path.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::kernels::cuda {

// residual may be null: the anchor only.
PageOutcome lynx_encode_page(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                             std::byte* residual);
// What of a page's residual travels with its anchor: src/codec/early.hpp.
struct EarlyShape {
  int pairs = 0, rows = 0;
  std::size_t anchor_bytes = 0, residual_bytes = 0;  // the payloads' sizes; used where pairs or rows are not 0
};
// anchor: early.anchor_bytes, of which lynx_encode_page wrote its part. whole: the whole residual. residual:
// early.residual_bytes.
void move_early_page(const LynxLayout& layout, const LynxCoding& coding, const EarlyShape& early, std::byte* anchor,
                     const std::byte* whole, std::byte* residual);
// residual null: a draft. False, rows untouched: a page scalar or a sink is not finite, or the list of early residuals
// is not an encoder's.
bool lynx_decode_page(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows, const EarlyShape& early = {});
// anchor and residual: what lynx_encode_page made of the rows. `out` is resized to the payload.
void exact_encode_page(const Bf16* rows, const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                       const LynxCoding& coding, std::vector<std::byte>& out);
// rows are untouched where the result is Error{bad_data}: a page scalar, a sink or the payload is damaged.
Result<void> exact_decode_page(const std::byte* anchor, const std::byte* residual, std::span<const std::byte> payload,
                               const LynxLayout& layout, const LynxCoding& coding, Bf16* rows, const EarlyShape& early = {});
PageOutcome uniform_encode_page(const Bf16* rows, const UniformLayout& layout, std::byte* payload);
bool uniform_decode_page(const std::byte* payload, const UniformLayout& layout, Bf16* rows);

}  // namespace lynxkv::kernels::cuda
