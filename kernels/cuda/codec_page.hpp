// One page tensor that lies on the host, coded on the GPU: uploads, runs, downloads and waits. The same signatures and
// bytes as kernels/codec.hpp; for command lines and tests, not for the data path.
#pragma once

#include <cstddef>

#include "kernels/codec.hpp"

namespace lynxkv::kernels::cuda {

// residual may be null: the anchor only.
PageOutcome lynx_encode_page(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                             std::byte* residual);
// residual null: a draft. False, rows untouched: a page scalar or a sink is not finite.
bool lynx_decode_page(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows);
PageOutcome uniform_encode_page(const Bf16* rows, const UniformLayout& layout, std::byte* payload);
bool uniform_decode_page(const std::byte* payload, const UniformLayout& layout, Bf16* rows);

}  // namespace lynxkv::kernels::cuda
