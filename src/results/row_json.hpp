// A row as a JSON value with the field names of Row. One place knows the fields: journal, wire and exports
// use it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/row.hpp"

namespace lynxkv::results {

nlohmann::json row_to_json(const Row& row);

// Throws Error{bad_data} that names the field: missing, of another type, or out of its range.
Row row_from_json(const nlohmann::json& object);

}  // namespace lynxkv::results
