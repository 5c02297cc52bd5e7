// One segment of the exact stream: 32 coder states side by side (kernels/exact.hpp has the format). Whole
// steps of 32 values run vectorised for each instruction set (exact_steps.cpp); what is left over runs
// plainly, value by value, and that plain form defines the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
Coded encode_segment(const Cells& cells, const std::uint16_t* values, std::uint16_t* words,
                     std::uint16_t* extras);

struct Source {
  const std::byte* states;                   // u32[32]
  std::span<const std::byte> words, extras;  // u16
};

// False where the source is not what an encoder makes of these cells; `values` is then undefined.
bool decode_segment(const Cells& cells, const Source& source, std::uint16_t* values);

// From here on: what the plain and the vector form share.

inline std::uint16_t word_at(const std::byte* words, std::size_t index) {
  std::uint16_t word;
  std::memcpy(&word, words + index * 2, sizeof word);
  return word;
}

// Takes words and extras in order and notices the end of either.
struct Reader {
  std::span<const std::byte> words, extras;
  std::size_t word = 0, extra = 0;
  bool ok = true;

  std::uint16_t next_extra() {
    if (extra * 2 == extras.size()) {
      ok = false;
      return 0;
    }
    const std::uint16_t bits = word_at(extras.data(), extra++);
    ok = ok && is_finite(Bf16{bits});
    return bits;
  }
};

// Words and extras fill their memory from its end, as values are encoded from the last to the first.
struct Writer {
  std::uint16_t* word;
  std::uint16_t* extra;
};

// The symbol "none of the cell's members". The decoder's state before the refill.
inline std::uint32_t state_after_none(std::uint32_t state, std::uint32_t count) {
  return exact_state_after_none(state, count, exact_share(static_cast<int>(count)));
}

void encode_value(std::uint32_t& state, int first, std::uint32_t count, std::uint16_t bits, Writer& out);

// Decodes whole steps from the segment's first value on, while words are plenty. Returns how many values.
std::size_t decode_steps(const Cells& cells, Reader& in, std::uint32_t* state, std::uint16_t* values);
// Encodes the first `values` values, a whole number of steps, from the last to the first, or none of them.
// Returns how many.
std::size_t encode_steps(const Cells& cells, std::size_t values, const std::uint16_t* bits,
                         std::uint32_t* state, Writer& out);

}  // namespace lynxkv::kernels::exact
