#include "codec/cachegen_column.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "codec/range_coder.hpp"

namespace lynxkv::codec {

ColumnModel model_of(const Column& column, int first, int count) {
  ColumnModel model;
  model.first = first;
  model.count = count;
  std::array<std::uint32_t, 256> seen{};
  for (int i = 0; i < column.rows; ++i)
    ++seen[static_cast<std::size_t>(column.codes[static_cast<std::size_t>(i) * column.stride] - first)];
  const auto symbols = static_cast<std::uint32_t>(count), rows = static_cast<std::uint32_t>(column.rows);
  std::uint32_t below = 0;
  for (std::uint32_t i = 0; i < symbols; ++i) {
    model.cumulative[i] = below * (range_total - symbols) / rows + i;
    below += seen[i];
  }
  model.cumulative[symbols] = range_total;
  return model;
}

void write_table(const ColumnModel& model, ByteWriter& out) {
  for (int i = 1; i < model.count; ++i)
    out.write(static_cast<std::uint16_t>(model.cumulative[static_cast<std::size_t>(i)]));
}

Result<void> read_table(std::span<const std::byte> bytes, ColumnModel& model) {
  ByteReader in(bytes);
  model.cumulative[0] = 0;
  const auto symbols = static_cast<std::size_t>(model.count);
  for (std::size_t i = 1; i < symbols; ++i) model.cumulative[i] = in.read<std::uint16_t>();
  model.cumulative[symbols] = range_total;
  bool rises = in.ok();
  for (std::size_t i = 0; i < symbols; ++i) rises = rises && model.cumulative[i] < model.cumulative[i + 1];
  if (rises) return {};
  return Error(ErrorCode::bad_data, "anchor payload",
               "the cumulative frequencies of a channel do not rise; it is damaged");
}

void encode_column(const Column& column, const ColumnModel& model, std::vector<std::byte>& out) {
  if (model.count == 1) return;
  RangeEncoder coder(out);
  for (int i = 0; i < column.rows; ++i) {
    const auto symbol =
        static_cast<std::size_t>(column.codes[static_cast<std::size_t>(i) * column.stride] - model.first);
    coder.encode(model.cumulative[symbol], model.cumulative[symbol + 1] - model.cumulative[symbol]);
  }
  coder.finish();
}

void decode_column(std::span<const std::byte> bytes, const ColumnModel& model, int rows, std::size_t stride,
                   std::int8_t* codes) {
  const std::uint32_t* begin = model.cumulative.data();
  RangeDecoder coder(bytes);
  for (int i = 0; i < rows; ++i, codes += stride) {
    if (model.count == 1) {
      *codes = static_cast<std::int8_t>(model.first);
      continue;
    }
    const std::uint32_t* above = std::upper_bound(begin + 1, begin + model.count, coder.target());
    coder.advance(above[-1], above[0] - above[-1]);
    *codes = static_cast<std::int8_t>(model.first + static_cast<int>(above - begin) - 1);
  }
}

}  // namespace lynxkv::codec
