#include "codec/block_grid.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/codec_uniform_math.hpp"

namespace lynxkv::codec {
namespace {

Bf16 load(const std::byte* scales, std::size_t index) {
  Bf16 value;
  std::memcpy(&value, scales + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

kernels::PageOutcome encode_scales(const Bf16* rows, const BlockGrid& grid, std::byte* scales) {
  const auto channels = static_cast<std::size_t>(grid.channels);
  const auto columns = static_cast<std::size_t>(grid.columns());
  const kernels::PageOutcome outcome =
      kernels::page_outcome(rows, static_cast<std::size_t>(grid.tokens) * channels);
  if (outcome != kernels::PageOutcome::coded) return outcome;
  std::vector<float> least(columns), largest(columns);
  std::byte* steps = scales + grid.blocks() * sizeof(Bf16);
  for (int from = 0; from < grid.tokens; from += grid.block_tokens) {
    const int to = std::min(from + grid.block_tokens, grid.tokens);
    for (int token = from; token < to; ++token) {
      const Bf16* row = rows + static_cast<std::size_t>(token) * channels;
      std::size_t channel = 0;
      for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t end = std::min(channel + static_cast<std::size_t>(grid.block_channels), channels);
        float low = token == from ? to_float(row[channel]) : least[column];
        float high = token == from ? low : largest[column];
        for (; channel < end; ++channel) {
          const float x = to_float(row[channel]);
          low = x < low ? x : low;
          high = x > high ? x : high;
        }
        least[column] = low;
        largest[column] = high;
      }
    }
    for (std::size_t column = 0; column < columns; ++column, scales += sizeof(Bf16), steps += sizeof(Bf16)) {
      const auto scale =
          kernels::uniform_scale(to_bf16(least[column]), to_bf16(largest[column]), grid.largest_code);
      std::memcpy(scales, &scale.lo, sizeof scale.lo);
      std::memcpy(steps, &scale.step, sizeof scale.step);
    }
  }
  return outcome;
}

bool scales_are_finite(const std::byte* scales, const BlockGrid& grid) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < grid.blocks() * 2; ++i) found |= is_finite(load(scales, i)) ? 0u : 1u;
  return found == 0;
}

GridRow::GridRow(const BlockGrid& grid, const std::byte* scales)
    : grid_(grid), scales_(scales), lo_(static_cast<std::size_t>(grid.channels)), step_(lo_.size()) {}

void GridRow::next() {
  const int token = token_++;
  if (token % grid_.block_tokens != 0) return;
  const auto columns = static_cast<std::size_t>(grid_.columns());
  const std::size_t first = static_cast<std::size_t>(token / grid_.block_tokens) * columns;
  std::size_t channel = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const float lo = to_float(load(scales_, first + column)),
                step = to_float(load(scales_, grid_.blocks() + first + column));
    const std::size_t end = std::min(channel + static_cast<std::size_t>(grid_.block_channels), lo_.size());
    for (; channel < end; ++channel) {
      lo_[channel] = lo;
      step_[channel] = step;
    }
  }
}

void GridRow::encode(const Bf16* row, std::uint8_t* codes) const {
  for (std::size_t channel = 0; channel < lo_.size(); ++channel)
    codes[channel] = static_cast<std::uint8_t>(
        kernels::uniform_code(row[channel], lo_[channel], step_[channel], grid_.largest_code));
}

void GridRow::decode(const std::int16_t* codes, Bf16* row) const {
  for (std::size_t channel = 0; channel < lo_.size(); ++channel)
    row[channel] = kernels::uniform_value(codes[channel], lo_[channel], step_[channel]);
}

void pack_nibbles(const std::uint8_t* codes, int values, std::byte* out) {
  for (int i = 0; i < values; i += 2)
    out[i / 2] = static_cast<std::byte>((codes[i] & 15) | (codes[i + 1] & 15) << 4);
}

void encode_nibbles(const Bf16* rows, const BlockGrid& grid, const std::byte* scales, std::byte* nibbles) {
  GridRow row(grid, scales);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(grid.channels));
  for (int token = 0; token < grid.tokens; ++token, rows += grid.channels, nibbles += grid.channels / 2) {
    row.next();
    row.encode(rows, codes.data());
    pack_nibbles(codes.data(), grid.channels, nibbles);
  }
}

void decode_nibbles(const std::byte* scales, const std::byte* nibbles, const BlockGrid& grid, Bf16* rows) {
  GridRow row(grid, scales);
  std::vector<std::int16_t> codes(static_cast<std::size_t>(grid.channels));
  for (int token = 0; token < grid.tokens; ++token, rows += grid.channels) {
    row.next();
    for (std::size_t channel = 0; channel < codes.size(); channel += 2, ++nibbles) {
      codes[channel] = static_cast<std::int16_t>(*nibbles & std::byte{15});
      codes[channel + 1] = static_cast<std::int16_t>(*nibbles >> 4);
    }
    row.decode(codes.data(), rows);
  }
}

}  // namespace lynxkv::codec
