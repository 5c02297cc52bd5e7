// Early residuals: residual codes that travel with the anchor, so that a draft reads them at full precision. They are
// those of the newest prompt tokens and of the channels with the widest chunks, where drafts err most; the residual
// payload holds the others. Anchor and residual together are as long as before, but for the list of channels.
//
// Behind an anchor payload as kernels/codec.hpp lays it out, where a page tensor has early residuals:
//   u16 pairs, u16 rows; u16 pair[pairs], ascending: channels 2 pair and 2 pair + 1
//   for each token in order (raw sinks apart) the residual bytes of `pair`, in the order listed; for each of the last
//   `rows` tokens all its residual bytes instead
// The residual payload, for each other token: its residual bytes up to the last `pairs`; where one of them is early,
// it holds instead, in order, those of the last `pairs` that are not. So a row is one copy and a few single bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "codec/codec.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {

struct EarlyPlan {
  int pairs = 0;  // of channels, over all tokens
  int rows = 0;   // newest tokens, over all channels

  bool any() const noexcept { return pairs > 0 || rows > 0; }
  std::size_t list_bytes() const noexcept { return any() ? 4 + static_cast<std::size_t>(pairs) * 2 : 0; }
  std::size_t early_bytes(const kernels::LynxLayout& layout) const noexcept;  // of residual codes
  std::size_t anchor_bytes(const kernels::LynxLayout& layout) const noexcept {
    return layout.anchor_bytes() + list_bytes() + early_bytes(layout);
  }
  std::size_t residual_bytes(const kernels::LynxLayout& layout) const noexcept {
    return layout.nibble_bytes() - early_bytes(layout);
  }
};

// What the options ask for, held to what the page tensor has: sender and receiver come to the same plan.
EarlyPlan early_plan(const CodecOptions& options, const TensorShape& shape, const kernels::LynxLayout& layout);

// anchor: layout.anchor_bytes() at its front, plan.anchor_bytes() in all; residual: layout.nibble_bytes(), of which
// plan.residual_bytes() are left. Chooses the pairs from the anchor's scalars: the largest sum over the chunks of
// tokens * (sg * gscale)^2 of both channels, the first of equals.
void move_early(const EarlyPlan& plan, const kernels::LynxLayout& layout, const kernels::LynxCoding& coding,
                std::vector<std::byte>& anchor, std::vector<std::byte>& residual);

// The whole residual, layout.nibble_bytes(), of payloads of the plan's sizes. Without `residual` (empty) the codes that
// are still to come are those that full decode turns into the draft's value. Error{bad_data} where the list is not one
// that move_early writes.
Result<void> join_early(const EarlyPlan& plan, const kernels::LynxLayout& layout, std::span<const std::byte> anchor,
                        std::span<const std::byte> residual, std::vector<std::byte>& whole);

}  // namespace lynxkv::codec
