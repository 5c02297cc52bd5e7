#include "results/row_codec.hpp"

#include <nlohmann/json.hpp>

#include "results/cbor.hpp"
#include "results/row_json.hpp"

namespace lynxkv::results {

std::vector<std::byte> encode_row(const Row& row) {
  return to_cbor(nlohmann::json{{"row", row_to_json(row)}});
}

Result<Row> decode_row(std::span<const std::byte> bytes) {
  auto item = from_cbor(bytes);
  if (!item) return item.error();
  const nlohmann::json& object = item.value();
  if (!object.is_object() || object.size() != 1 || !object.contains("row"))
    return Error(ErrorCode::bad_data, "record", "expected a row, found another kind of record");
  try {
    return row_from_json(object["row"]);
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace lynxkv::results
