// What the codec's strip kernels work on. A strip is one vector of channel pairs over all tokens of a page tensor;
// strips are independent, so they run on any thread. Each function dispatches on the CPU's instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/codec.hpp"

namespace lynxkv::kernels::strips {

struct EncodePage {
  const Bf16* rows;
  const LynxLayout* layout;
  const LynxCoding* coding;
  std::byte* anchor;
  std::byte* residual;      // null: anchor only
  std::int16_t* workspace;  // [chunks][2][channels]: least and largest value, as ordered integers
};

struct DecodePage {
  const std::byte* anchor;
  const std::byte* residual;  // null: draft
  const LynxLayout* layout;
  const LynxCoding* coding;
  Bf16* rows;
};

// Channel pairs that a strip takes.
int width();

// Both take the first pair of the strip. Statistics first, for all strips: gmin, gscale and the workspace.
PageOutcome statistics(const EncodePage& page, int first_pair);
void codes(const EncodePage& page, int first_pair);
void values(const DecodePage& page, int first_pair);

}  // namespace lynxkv::kernels::strips
