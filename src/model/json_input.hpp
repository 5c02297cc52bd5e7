// JSON that a file holds, parsed with messages in one line and without silent oddities: a key that stands
// twice in one object is an error, as are bytes after the end. Internal to the readers; brings nlohmann's
// header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lynxkv::model {

// Throws Error{bad_data} naming `name`. `what` says what the text should be: "a config".
nlohmann::json parse_json(std::string_view text, const std::string& name, std::string_view what);

// What a JSON value is, for messages: "a string", "an object", ...
std::string kind_of(const nlohmann::json& value);

}  // namespace lynxkv::model
