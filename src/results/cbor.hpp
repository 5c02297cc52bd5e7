// CBOR for journal records: nlohmann's reader behind a check of the shape, because that reader recurses once
// a nesting level and reserves what a length field asks for.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace lynxkv::results {

std::vector<std::byte> to_cbor(const nlohmann::json& value);

// Exactly one item of definite lengths, without tags, at most 8 levels deep. Error{bad_data} otherwise.
Result<nlohmann::json> from_cbor(std::span<const std::byte> bytes);

}  // namespace lynxkv::results
