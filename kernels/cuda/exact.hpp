// The exact stream on a GPU: many page tensors in one launch, the same bytes as kernels/exact.hpp. What
// kernels/cuda/codec.hpp says of streams, memory, alignment and outcomes holds here too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/codec.hpp"
#include "kernels/exact.hpp"

namespace lynxkv::kernels::cuda {

// An outcome beside those of PageOutcome: the exact payload is not what an encoder makes of these codes.
constexpr std::uint32_t exact_damaged = 3;

struct ExactDecodePage {
  const std::byte* anchor = nullptr;    // LynxLayout::anchor_bytes()
  const std::byte* residual = nullptr;  // LynxLayout::nibble_bytes()
  const std::byte* payload = nullptr;   // payload_bytes: whatever came, nothing is believed
  std::size_t payload_bytes = 0;
  Bf16* rows = nullptr;  // [tokens][channels]: the KV page itself
  int tokens = 0;        // 1 .. 256
  int sinks = 0;         // 0 .. tokens
};

// Every row is written. Rows are undefined where the outcome is `not_finite` (a page scalar or a sink) or
// exact_damaged; nothing outside of them is touched, whatever the payload holds.
void exact_decode(std::span<const ExactDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                  std::uint32_t* outcomes, StreamHandle stream);

}  // namespace lynxkv::kernels::cuda
