// The page codecs on a GPU: many page tensors in one launch, the same bytes as kernels/codec.hpp.
// Everything is enqueued on the given stream and nothing waits: the caller orders the stream against its copies. No
// scratch memory is needed, tables and page lists travel as kernel parameters, and they may be freed at once.
//
// All page pointers are device memory, 4-byte aligned; with 16-byte alignment and channels a multiple of 8 the widest
// loads and stores are used. Layouts: LynxLayout, UniformLayout.
// outcomes: device memory, one word for each page, set to a PageOutcome; it says what became of the page once the
// stream has passed the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/codec.hpp"
#include "kernels/cuda/runtime.hpp"

namespace lynxkv::kernels::cuda {

// What the pages of one call share.
struct LynxShape {
  int channels = 0;       // even
  int chunk_tokens = 32;  // 1 .. 256
};

struct LynxEncodePage {
  const Bf16* rows = nullptr;       // [tokens][channels]
  std::byte* anchor = nullptr;      // LynxLayout::anchor_bytes()
  std::byte* residual = nullptr;    // LynxLayout::nibble_bytes(), or null: the anchor only
  int tokens = 0;                   // 1 .. 256
  int sinks = 0;                    // 0 .. tokens
};
// Of a page that lynx_encode coded, earlier in the same stream, with its whole residual.
struct EarlyMovePage {
  std::byte* anchor = nullptr;       // the anchor payload, and room for the early residuals behind it
  const std::byte* whole = nullptr;  // LynxLayout::nibble_bytes()
  std::byte* residual = nullptr;     // what is left of it
  int tokens = 0;
  int sinks = 0;
  int early_pairs = 0, early_rows = 0;  // pairs of channels, newest tokens: as src/codec/early.hpp plans them
};

struct LynxDecodePage {
  const std::byte* anchor = nullptr;    // with its early residuals behind it, if any
  const std::byte* residual = nullptr;  // null for a draft; what the early residuals leave of it
  Bf16* rows = nullptr;                 // [tokens][channels]: the KV page itself
  int tokens = 0;
  int sinks = 0;
  int early_pairs = 0, early_rows = 0;  // pairs of channels, newest tokens: as src/codec/early.hpp plans them
};
// An outcome beside those of PageOutcome: the payload is not what an encoder writes.
constexpr std::uint32_t payload_damaged = 3;

// Outcomes `raw` and `not_finite` leave the payloads undefined; a raw page is its own payload (copy_on_device).
void lynx_encode(std::span<const LynxEncodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                 std::uint32_t* outcomes, StreamHandle stream);

// Chooses the early residuals and moves them behind the anchor, as codec::move_early does. Outcomes are `coded`.
void move_early(std::span<const EarlyMovePage> pages, const LynxShape& shape, const LynxCoding& coding, std::uint32_t* outcomes,
                StreamHandle stream);

// Every row is written. Outcome `not_finite`, rows undefined: a page scalar or a sink is not finite, which no encoder
// writes; payload_damaged, rows undefined too: so is the list of early residuals. Nibbles and chunk scalars of any value
// are safe.
void lynx_decode_draft(std::span<const LynxDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                       std::uint32_t* outcomes, StreamHandle stream);
void lynx_decode_full(std::span<const LynxDecodePage> pages, const LynxShape& shape, const LynxCoding& coding,
                      std::uint32_t* outcomes, StreamHandle stream);

// The plain integers.
struct UniformShape {
  int channels = 0;  // even
  int head_dim = 0;  // per head: even, a divisor of channels, at most uniform_head_dim_limit
  int bits = 8;      // 4 or 8
  bool per_channel = false;
};
constexpr int uniform_head_dim_limit = 512;

struct UniformEncodePage {
  const Bf16* rows = nullptr;    // [tokens][channels]
  std::byte* payload = nullptr;  // UniformLayout::payload_bytes()
  int tokens = 0;                // 1 .. 256
};
struct UniformDecodePage {
  const std::byte* payload = nullptr;
  Bf16* rows = nullptr;
  int tokens = 0;
};
// Outcomes as with `lynx`. Throws Error{usage} for a head_dim that the kernels do not take.
void uniform_encode(std::span<const UniformEncodePage> pages, const UniformShape& shape, std::uint32_t* outcomes,
                    StreamHandle stream);
// Outcome `not_finite`, rows undefined: a lo or a step is not finite.
void uniform_decode(std::span<const UniformDecodePage> pages, const UniformShape& shape, std::uint32_t* outcomes,
                    StreamHandle stream);

}  // namespace lynxkv::kernels::cuda
