// The `lynx` kernels' outer loops: strips of channels over the runtime's threads.
#include <hwy/targets.h>

#include <atomic>
#include <cstring>

#include "base/check.hpp"
#include "kernels/cpu/codec_strips.hpp"
#include "kernels/parallel.hpp"

namespace lynxkv::kernels {
namespace {

// About what a value takes on one thread with AVX-512: enough to tell long work from short.
constexpr double encode_picoseconds = 600, decode_picoseconds = 150;

// Calls body(first_pair) for strips that cover all pairs. Where the width does not divide, the last strip starts
// earlier and repeats some of its neighbour's work: the bytes are the same, and one task does both.
template <class Body>
void for_strips(const LynxLayout& layout, int width, double picoseconds, Body body) {
  const int pairs = layout.channels / 2, whole = pairs / width;
  const auto values = static_cast<std::size_t>(layout.tokens) * static_cast<std::size_t>(layout.channels);
  parallel_for(whole, values, picoseconds, [&](int strip, int) {
    body(strip * width);
    if (strip == whole - 1 && pairs % width != 0) body(pairs - width);
  });
}

}  // namespace

PageOutcome lynx_encode(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                        std::byte* residual, std::int16_t* workspace) {
  const int pairs = layout.channels / 2, width = strips::width();
  if (pairs < width) return reference::lynx_encode(rows, layout, coding, anchor, residual);
  if (page_outcome(rows, layout.gmin_at() / 2) == PageOutcome::not_finite) return PageOutcome::not_finite;
  const strips::EncodePage page{rows, &layout, &coding, anchor, residual, workspace};
  std::atomic<int> worst{static_cast<int>(PageOutcome::coded)};
  for_strips(layout, width, encode_picoseconds / 2, [&](int first_pair) {
    const int outcome = static_cast<int>(strips::statistics(page, first_pair));
    int seen = worst.load(std::memory_order_relaxed);
    while (outcome > seen && !worst.compare_exchange_weak(seen, outcome, std::memory_order_relaxed)) {
    }
  });
  if (const auto outcome = static_cast<PageOutcome>(worst.load()); outcome != PageOutcome::coded) return outcome;
  std::memcpy(anchor, rows, layout.gmin_at());
  for_strips(layout, width, encode_picoseconds / 2, [&](int first_pair) { strips::codes(page, first_pair); });
  return PageOutcome::coded;
}

bool lynx_scalars_are_finite(const std::byte* anchor, const LynxLayout& layout) {
  return page_outcome(reinterpret_cast<const Bf16*>(anchor), layout.mu8_at() / 2) != PageOutcome::not_finite;
}

void lynx_decode_draft(const std::byte* anchor, const LynxLayout& layout, const LynxCoding& coding, Bf16* rows) {
  const int pairs = layout.channels / 2, width = strips::width();
  if (pairs < width) return reference::lynx_decode_draft(anchor, layout, coding, rows);
  std::memcpy(rows, anchor, layout.gmin_at());
  const strips::DecodePage page{anchor, nullptr, &layout, &coding, rows};
  for_strips(layout, width, decode_picoseconds, [&](int first_pair) { strips::values(page, first_pair); });
}

void lynx_decode_full(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows) {
  const int pairs = layout.channels / 2, width = strips::width();
  if (pairs < width) return reference::lynx_decode_full(anchor, residual, layout, coding, rows);
  std::memcpy(rows, anchor, layout.gmin_at());
  const strips::DecodePage page{anchor, residual, &layout, &coding, rows};
  for_strips(layout, width, decode_picoseconds, [&](int first_pair) { strips::values(page, first_pair); });
}

}  // namespace lynxkv::kernels
