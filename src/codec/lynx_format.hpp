// What the codecs of the `lynx` family share: checked options, tables for K and for V, and where the parts of a page
// tensor's payloads lie.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/codec.hpp"
#include "codec/early.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {

class LynxFormat {
 public:
  // Throws Error{usage} that names the option which is out of range.
  explicit LynxFormat(const CodecOptions& options);

  const kernels::LynxCoding& coding(const TensorShape& shape) const noexcept {
    return shape.kind == page::Kind::value && coding_v_ ? *coding_v_ : coding_;
  }
  kernels::LynxLayout layout(const TensorShape& shape) const noexcept;
  EarlyPlan early(const TensorShape& shape) const noexcept { return early_plan(options_, shape, layout(shape)); }

  std::size_t anchor_bytes(const TensorShape& shape) const noexcept { return early(shape).anchor_bytes(layout(shape)); }
  std::size_t residual_bytes(const TensorShape& shape) const noexcept { return early(shape).residual_bytes(layout(shape)); }

  // The anchor payload, its early residuals still unwritten, and the whole residual (unless null). Anything but
  // `coded` leaves both undefined.
  kernels::PageOutcome encode(const Bf16* rows, const TensorShape& shape, std::vector<std::byte>& anchor,
                              std::vector<std::byte>* residual) const;
  // Moves the early residuals to their place.
  void move_early(const TensorShape& shape, std::vector<std::byte>& anchor, std::vector<std::byte>& residual) const;

  // Sizes and scalars of payloads whose sender nobody vouches for. `residual` is looked at where `full`.
  Result<void> check(const TensorShape& shape, std::span<const std::byte> anchor, std::span<const std::byte> residual,
                     bool full) const;
  // The whole residual of checked payloads; `memory` is used where it has to be put together. Null where there is
  // none: a draft without early residuals.
  Result<const std::byte*> whole_residual(const TensorShape& shape, std::span<const std::byte> anchor,
                                          std::span<const std::byte> residual, bool full,
                                          std::vector<std::byte>& memory) const;

 private:
  CodecOptions options_;
  kernels::LynxCoding coding_;
  std::unique_ptr<kernels::LynxCoding> coding_v_;  // where V has an alpha of its own
};

}  // namespace lynxkv::codec
