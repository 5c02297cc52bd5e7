// The cells of the exact stream over one strip of channels, for each instruction set (as
// kernels/cpu/codec_strips.hpp).
#pragma once

#include "kernels/exact.hpp"

namespace lynxkv::kernels::strips {

struct CellsPage {
  const std::byte* anchor;
  const std::byte* residual;
  const LynxLayout* layout;
  const LynxCoding* coding;
  const ExactTables* tables;
  std::int16_t* first;   // [tokens - sinks][channels]
  std::uint16_t* count;  // [tokens - sinks][channels]
};

void cells(const CellsPage& page, int first_pair);

}  // namespace lynxkv::kernels::strips
