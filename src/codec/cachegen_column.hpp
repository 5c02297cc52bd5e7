// The entropy coding of both CacheGen codecs: each channel of a page tensor has its own distribution, sent
// along as a table of 16-bit cumulative frequencies, and its own string of a range coder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace lynxkv::codec {

// The codes first .. first + count - 1 of one channel, and their cumulative frequencies: code first + i owns
// [cumulative[i], cumulative[i + 1]) of 2^16.
struct ColumnModel {
  int first = 0;
  int count = 1;  // 1 .. 255
  std::array<std::uint32_t, 256> cumulative{};
};

// One channel's codes, `stride` apart.
struct Column {
  const std::int8_t* codes;
  std::size_t stride;
  int rows;
};

// cumulative[i] = floor(codes below it * (2^16 - count) / rows) + i: every code of the alphabet keeps a
// share. All codes are in the alphabet.
ColumnModel model_of(const Column& column, int first, int count);

// A table in a payload: u16 cumulative[1 .. count - 1]; both ends are known.
constexpr std::size_t table_bytes(int count) {
  return static_cast<std::size_t>(count - 1) * 2;
}
void write_table(const ColumnModel& model, ByteWriter& out);
// Error{bad_data} where frequencies do not rise. `bytes` has table_bytes(model.count).
Result<void> read_table(std::span<const std::byte> bytes, ColumnModel& model);

// At most column_bound(rows) bytes.
void encode_column(const Column& column, const ColumnModel& model, std::vector<std::byte>& out);
constexpr std::size_t column_bound(int rows) {
  return static_cast<std::size_t>(rows) * 2 + 8;
}
// Codes go to codes[0], codes[stride], ...: `rows` of them, all in the alphabet whatever the bytes are.
void decode_column(std::span<const std::byte> bytes, const ColumnModel& model, int rows, std::size_t stride,
                   std::int8_t* codes);

}  // namespace lynxkv::codec
