// Rows as columns, the layout of the HDF5 file without HDF5 itself. A column has a value a row; texts and
// lists are two columns: NAME, all of them joined (texts: UTF-8 bytes), and NAME_offsets, where each begins,
// with the end of the last as one value more.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "results/row.hpp"

namespace lynxkv::results {

using ColumnValues = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                                  std::vector<std::int32_t>, std::vector<std::uint8_t>>;

struct Column {
  std::string name;
  std::string units;      // "s", "byte", "token", "1" for counts and shares; "" for texts and names
  std::string long_name;  // what it means, for people
  ColumnValues values;
};

std::vector<Column> columns_of(const std::vector<Row>& rows);

// Error{bad_data} that names the column: missing, of another type or length, offsets that do not rise or pass
// the end. Columns that are not known are skipped.
Result<std::vector<Row>> rows_of(const std::vector<Column>& columns);

}  // namespace lynxkv::results
