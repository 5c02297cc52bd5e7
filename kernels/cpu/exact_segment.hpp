// One segment of the exact stream: 32 coder states side by side (kernels/exact.hpp has the format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/exact.hpp"

namespace lynxkv::kernels::exact {

// Values of the segment and their cells. `values` are bf16 bits.
struct Cells {
  const std::int16_t* first;
  const std::uint16_t* count;
  std::size_t values;  // 1 .. exact_segment_values
};

struct Coded {
  std::uint32_t state[exact_lanes];
  std::size_t words, extras;
};

// Writes the words to the end of words[0 .. cells.values), the extras to the front of `extras`, same size.
Coded encode_segment(const Cells& cells, const std::uint16_t* values, std::uint16_t* words, std::uint16_t* extras);

struct Source {
  const std::byte* states;  // u32[32]
  std::span<const std::byte> words, extras;  // u16
};

// False where the source is not what an encoder makes of these cells; `values` is then undefined.
bool decode_segment(const Cells& cells, const Source& source, std::uint16_t* values);

}  // namespace lynxkv::kernels::exact
