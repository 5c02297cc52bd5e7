// The exact stream on a GPU: many page tensors in one launch, the same bytes as kernels/exact.hpp. What
// kernels/cuda/codec.hpp says of streams, memory, alignment and outcomes holds here too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/codec.hpp"
#include "kernels/exact.hpp"

namespace lynxkv::kernels::cuda {

struct ExactEncodePage {
  const Bf16* rows = nullptr;         // [tokens][channels]
  const std::byte* anchor = nullptr;  // what lynx_encode made of them, earlier in the same stream
  const std::byte* residual = nullptr;
  std::byte* payload = nullptr;  // room for exact_bound_bytes()
  int tokens = 0;                // 1 .. 256
  int sinks = 0;                 // 0 .. tokens
};

// sizes: device memory, one word a page, set to the payload's bytes. Outcome `not_finite`: the anchor is none
// of an encoder's, as that of a page which travels raw; payload and size are then undefined.
void exact_encode(std::span<const ExactEncodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                  std::uint32_t* sizes, std::uint32_t* outcomes, StreamHandle stream);

struct ExactDecodePage {
  const std::byte* anchor = nullptr;    // LynxLayout::anchor_bytes()
  const std::byte* residual = nullptr;  // LynxLayout::nibble_bytes()
  const std::byte* payload = nullptr;   // payload_bytes: whatever came, nothing is believed
  Bf16* rows = nullptr;                 // [tokens][channels]: the KV page itself
  std::uint32_t payload_bytes = 0;
  int tokens = 0;                                 // 1 .. 256
  int sinks = 0;                                  // 0 .. tokens
  std::uint16_t early_pairs = 0, early_rows = 0;  // as in LynxDecodePage; anchor and residual then are too
};

// Every row is written. Rows are undefined where the outcome is `not_finite` (a page scalar or a sink) or
// payload_damaged; nothing outside of them is touched, whatever the payload holds.
void exact_decode(std::span<const ExactDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                  std::uint32_t* outcomes, StreamHandle stream);

}  // namespace lynxkv::kernels::cuda
