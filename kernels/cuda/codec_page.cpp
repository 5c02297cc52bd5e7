// One page of the host's through the GPU. Copies from pageable memory: the runtime stages them.
#include "kernels/cuda/codec_page.hpp"

#include <string>

#include "base/check.hpp"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/exact.hpp"
#include "kernels/cuda/runtime.hpp"

namespace lynxkv::kernels::cuda {
namespace {

// Buffers of one call, and the outcome's word.
struct OnDevice {
  Stream stream;
  DeviceMemory rows, anchor, residual, outcome{sizeof(std::uint32_t)};

  OnDevice(std::size_t rows_bytes, std::size_t anchor_bytes, std::size_t residual_bytes)
      : rows(rows_bytes), anchor(anchor_bytes), residual(residual_bytes) {}

  Bf16* values() const { return reinterpret_cast<Bf16*>(rows.data()); }
  std::uint32_t* word() const { return reinterpret_cast<std::uint32_t*>(outcome.data()); }
  void put(const DeviceMemory& to, const void* from) const {
    if (to.bytes() > 0) copy_to_device(to.data(), from, to.bytes(), stream.get());
  }
  void take(void* to, const DeviceMemory& from) const {
    if (from.bytes() > 0) copy_to_host(to, from.data(), from.bytes(), stream.get());
    stream.synchronise();
  }
  PageOutcome take_outcome() const {
    std::uint32_t found = 0;
    take(&found, outcome);
    return static_cast<PageOutcome>(found);
  }
};

UniformShape shape_of(const UniformLayout& layout) { return {layout.channels, layout.head_dim, layout.bits, layout.per_channel}; }

std::size_t anchor_bytes(const LynxLayout& layout, const EarlyShape& early) {
  return early.pairs > 0 || early.rows > 0 ? early.anchor_bytes : layout.anchor_bytes();
}
std::size_t residual_bytes(const LynxLayout& layout, const EarlyShape& early) {
  return early.pairs > 0 || early.rows > 0 ? early.residual_bytes : layout.nibble_bytes();
}

}  // namespace

PageOutcome lynx_encode_page(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                             std::byte* residual) {
  const OnDevice device(layout.raw_bytes(), layout.anchor_bytes(), residual != nullptr ? layout.nibble_bytes() : 0);
  device.put(device.rows, rows);
  const LynxEncodePage page[] = {{device.values(), device.anchor.data(), device.residual.data(), layout.tokens, layout.sinks}};
  lynx_encode(page, {layout.channels, layout.chunk_tokens}, coding, device.word(), device.stream.get());
  const PageOutcome outcome = device.take_outcome();
  if (outcome != PageOutcome::coded) return outcome;
  device.take(anchor, device.anchor);
  if (residual != nullptr) device.take(residual, device.residual);
  return outcome;
}

void move_early_page(const LynxLayout& layout, const LynxCoding& coding, const EarlyShape& early, std::byte* anchor,
                     const std::byte* whole, std::byte* residual) {
  const OnDevice device(layout.nibble_bytes(), early.anchor_bytes, early.residual_bytes);
  device.put(device.rows, whole);
  device.put(device.anchor, anchor);
  const EarlyMovePage page[] = {{device.anchor.data(), device.rows.data(), device.residual.data(), layout.tokens, layout.sinks, early.pairs, early.rows}};
  move_early(page, {layout.channels, layout.chunk_tokens}, coding, device.word(), device.stream.get());
  device.take(anchor, device.anchor);
  device.take(residual, device.residual);
}

bool lynx_decode_page(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows, const EarlyShape& early) {
  const OnDevice device(layout.raw_bytes(), anchor_bytes(layout, early), residual != nullptr ? residual_bytes(layout, early) : 0);
  device.put(device.anchor, anchor);
  device.put(device.residual, residual);
  const LynxDecodePage page[] = {{device.anchor.data(), device.residual.data(), device.values(), layout.tokens, layout.sinks, early.pairs, early.rows}};
  const LynxShape shape{layout.channels, layout.chunk_tokens};
  if (residual != nullptr)
    lynx_decode_full(page, shape, coding, device.word(), device.stream.get());
  else
    lynx_decode_draft(page, shape, coding, device.word(), device.stream.get());
  if (device.take_outcome() != PageOutcome::coded) return false;
  device.take(rows, device.rows);
  return true;
}

void exact_encode_page(const Bf16* rows, const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                       const LynxCoding& coding, std::vector<std::byte>& out) {
  const OnDevice device(layout.raw_bytes(), layout.anchor_bytes(), layout.nibble_bytes());
  const DeviceMemory payload(exact_bound_bytes(layout)), size(sizeof(std::uint32_t));
  device.put(device.rows, rows);
  device.put(device.anchor, anchor);
  device.put(device.residual, residual);
  const ExactEncodePage page[] = {{device.values(), device.anchor.data(), device.residual.data(), payload.data(), layout.tokens, layout.sinks}};
  exact_encode(page, {layout.channels, layout.chunk_tokens}, coding, reinterpret_cast<std::uint32_t*>(size.data()), device.word(), device.stream.get());
  LYNXKV_CHECK(device.take_outcome() == PageOutcome::coded);
  std::uint32_t bytes = 0;
  device.take(&bytes, size);
  out.resize(payload.bytes());
  device.take(out.data(), payload);
  LYNXKV_CHECK(bytes <= out.size());
  out.resize(bytes);
}

Result<void> exact_decode_page(const std::byte* anchor, const std::byte* residual, std::span<const std::byte> payload,
                               const LynxLayout& layout, const LynxCoding& coding, Bf16* rows, const EarlyShape& early) {
  if (payload.size() > ~std::uint32_t{0}) return Error(ErrorCode::bad_data, "exact payload", "found " + std::to_string(payload.size()) + " bytes, more than any page's");
  const OnDevice device(layout.raw_bytes(), anchor_bytes(layout, early), residual_bytes(layout, early));
  const DeviceMemory exact(payload.size());
  device.put(device.anchor, anchor);
  device.put(device.residual, residual);
  device.put(exact, payload.data());
  const ExactDecodePage page[] = {{device.anchor.data(), device.residual.data(), exact.data(), device.values(), static_cast<std::uint32_t>(payload.size()),
                                   layout.tokens, layout.sinks, static_cast<std::uint16_t>(early.pairs), static_cast<std::uint16_t>(early.rows)}};
  exact_decode(page, {layout.channels, layout.chunk_tokens}, coding, device.word(), device.stream.get());
  std::uint32_t found = 0;
  device.take(&found, device.outcome);
  if (found == static_cast<std::uint32_t>(PageOutcome::not_finite))
    return Error(ErrorCode::bad_data, "anchor payload", "a page scalar or a sink is not finite; the payload is damaged");
  if (found != 0)
    return Error(ErrorCode::bad_data, "exact payload", "it is not what an encoder makes of these codes, or their list of early residuals is not: the payload is damaged");
  device.take(rows, device.rows);
  return {};
}

PageOutcome uniform_encode_page(const Bf16* rows, const UniformLayout& layout, std::byte* payload) {
  const OnDevice device(layout.values() * sizeof(Bf16), layout.payload_bytes(), 0);
  device.put(device.rows, rows);
  const UniformEncodePage page[] = {{device.values(), device.anchor.data(), layout.tokens}};
  uniform_encode(page, shape_of(layout), device.word(), device.stream.get());
  const PageOutcome outcome = device.take_outcome();
  if (outcome == PageOutcome::coded) device.take(payload, device.anchor);
  return outcome;
}

bool uniform_decode_page(const std::byte* payload, const UniformLayout& layout, Bf16* rows) {
  const OnDevice device(layout.values() * sizeof(Bf16), layout.payload_bytes(), 0);
  device.put(device.anchor, payload);
  const UniformDecodePage page[] = {{device.anchor.data(), device.values(), layout.tokens}};
  uniform_decode(page, shape_of(layout), device.word(), device.stream.get());
  if (device.take_outcome() != PageOutcome::coded) return false;
  device.take(rows, device.rows);
  return true;
}

}  // namespace lynxkv::kernels::cuda
