// A row as bytes: the payload of a journal record, and what a decode rank sends to rank 0.
// CBOR of {"row": {field: value, ...}} with the field names of Row; unknown fields are skipped.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "results/row.hpp"

namespace lynxkv::results {

// Text of a row is kept byte for byte, valid UTF-8 or not.
std::vector<std::byte> encode_row(const Row& row);

// Error{bad_data} for bytes that are not exactly one row: broken CBOR, a field that is missing, of another
// type or out of its range. Safe on hostile bytes: nesting and lengths are checked before anything is built.
Result<Row> decode_row(std::span<const std::byte> bytes);

}  // namespace lynxkv::results
