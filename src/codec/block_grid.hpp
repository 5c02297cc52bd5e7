// Affine integer grids over blocks of a page tensor, for the codecs that quantise K by channel and V by
// token: a block of block_tokens x block_channels values shares lo and step; code q stands for lo + q * step.
// Blocks count from the page's first token and channel; those at the far edges may be smaller.
//   scales in a payload: lo bf16[blocks], step bf16[blocks]
// Blocks are in order of tokens, those of the same tokens in order of channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bf16.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {

struct BlockGrid {
  int tokens;
  int channels;
  int block_tokens;
  int block_channels;
  int largest_code;  // at most 255

  int columns() const noexcept { return (channels + block_channels - 1) / block_channels; }
  std::size_t blocks() const noexcept {
    return static_cast<std::size_t>((tokens + block_tokens - 1) / block_tokens) *
           static_cast<std::size_t>(columns());
  }
  std::size_t scale_bytes() const noexcept { return blocks() * 4; }
  std::size_t nibble_bytes() const noexcept {
    return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(channels / 2);
  }
};

// lo = min; step = (max - lo) / largest_code rounded up to bf16; neither is ever -0. The outcome as for the
// other codecs: pages of huge values travel raw.
kernels::PageOutcome encode_scales(const Bf16* rows, const BlockGrid& grid, std::byte* scales);

bool scales_are_finite(const std::byte* scales, const BlockGrid& grid);

// The grid of one token's values after another.
class GridRow {
 public:
  GridRow(const BlockGrid& grid, const std::byte* scales);

  // Tokens are visited in order, each once.
  void next();
  // codes, signed_codes: [channels].
  void encode(const Bf16* row, std::uint8_t* codes) const;
  void decode(const std::int16_t* codes, Bf16* row) const;

 private:
  BlockGrid grid_;
  const std::byte* scales_;
  int token_ = 0;
  std::vector<float> lo_, step_;  // [channels]
};

// Two four-bit codes a byte, the even channel low. `values`: an even number.
void pack_nibbles(const std::uint8_t* codes, int values, std::byte* out);

// All rows of a grid of four-bit codes. rows: [tokens][channels]; nibbles: [tokens][channels / 2] bytes.
void encode_nibbles(const Bf16* rows, const BlockGrid& grid, const std::byte* scales, std::byte* nibbles);
void decode_nibbles(const std::byte* scales, const std::byte* nibbles, const BlockGrid& grid, Bf16* rows);

}  // namespace lynxkv::codec
