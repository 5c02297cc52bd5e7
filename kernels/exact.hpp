// The exact stream of a `lynx` page tensor: with it, anchor and residual give back every bit of the input.
//
// The codes of a value tell its cell of the quantiser (kernels/exact_math.hpp). All values of one cell are
// about equally likely, so the stream spends log2(members) bits on which one it was. That beats coding the
// difference to the decoded value in a context of the cell's width (on SmolLM2's KV 2.07 bits an element for
// K and 2.75 for V, all included; the entropy of the other is 2.23 and 2.85 before any table), and it needs
// no tables of the sender's: nothing to train, to transmit, or to go stale with another model.
//
// Payload of one page tensor, little-endian. values = (tokens - sinks) * channels; sinks are exact in the
// anchor.
//   nothing at all  where there are no values, and where the page travels raw
//   u32 form        0 stored, 1 coded; the encoder takes the smaller: no payload is larger than stored
//   stored          bf16[values], token-major
//   coded           u32 words, u32 extras  [segments]  counts of each segment; then for each segment
//                   u32 state[32]; u16 word[words]; u16 extra[extras]
//
// A segment is 16,384 values in token-major order (the last one may be shorter): the unit that is decoded on
// its own, on any thread or device. Its value i belongs to lane i % 32; each lane is a coder state, so 32
// values are decoded side by side, and only their reading of new words is in order of lanes.
//
// Decoding a value whose cell has n members, with share s = floor(16383 / n):
//   n > 256  The value's bits are the next extra.
//   else     slot = state mod 2^14 and k = slot / s; state = s * (state >> 14) + slot - k * s; the value is
//            the cell's k-th. Where k >= n it is none of them (rounding at the cell's edge): the slots from
//            n * s on are one symbol, state = (2^14 - n * s) * (state >> 14) + slot - n * s, and the bits
//            are the next extra. Then, where state < 2^16: state = state << 16 | next word.
//
// At the end of a segment every state is 2^16 and all words and extras are used up: damage shows there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "kernels/codec.hpp"
#include "kernels/exact_math.hpp"

namespace lynxkv::kernels {

constexpr int exact_lanes = 32;
constexpr std::size_t exact_segment_values = 16384;

// The two ends of a cell as signed thresholds, [anchor nibble << 4 | residual nibble].
struct ExactTables {
  float inner[256] = {};
  float outer[256] = {};
};
ExactTables make_exact_tables(const LynxTables& tables);

// Memory that encoding and decoding use; kept between pages by the caller.
struct ExactWorkspace {
  std::vector<std::int16_t> first;    // [values] of each value's cell, coded order
  std::vector<std::uint16_t> count;   // [values]
  std::vector<std::uint16_t> words;   // [values]: encoding
  std::vector<std::uint16_t> values;  // [values]: extras of encoding, output of decoding
  std::vector<std::size_t> marks;     // [segments][2]
};

std::size_t exact_value_count(const LynxLayout& layout) noexcept;
// The stored form's size: no payload is larger.
std::size_t exact_bound_bytes(const LynxLayout& layout) noexcept;

// A page tensor and the payloads that lynx_encode made of it (outcome coded). `out` is resized to the
// payload.
void exact_encode(const Bf16* rows, const std::byte* anchor, const std::byte* residual,
                  const LynxLayout& layout, const LynxCoding& coding, const ExactTables& tables,
                  ExactWorkspace& workspace, std::vector<std::byte>& out);

// rows: [tokens][channels], written whole, or not at all with Error{bad_data}. The anchor's and the
// residual's sizes are the layout's and their scalars finite; nothing is known of `payload`.
Result<void> exact_decode(const std::byte* anchor, const std::byte* residual,
                          std::span<const std::byte> payload, const LynxLayout& layout,
                          const LynxCoding& coding, const ExactTables& tables, ExactWorkspace& workspace,
                          Bf16* rows);

// Cells of all values, [tokens - sinks][channels].
void exact_cells(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                 const LynxCoding& coding, const ExactTables& tables, std::int16_t* first,
                 std::uint16_t* count);
namespace reference {
void exact_cells(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                 const LynxCoding& coding, const ExactTables& tables, std::int16_t* first,
                 std::uint16_t* count);
}  // namespace reference

}  // namespace lynxkv::kernels
