// JSON Lines from standard input: one object a line, blank lines passed over, each problem named by its line.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace lynxkv::apps {

// Calls `use` for each line's object. Throws Error{bad_data} "standard input, line N: ..." for a line that is
// no JSON object, and for what `use` throws as bad data.
void for_each_json_line(const std::function<void(const nlohmann::json& object)>& use);

// The member `key`; Error{bad_data} where it is absent.
const nlohmann::json& member(const nlohmann::json& object, const char* key, const char* expected);

// A string; Error{bad_data} naming `what` where the value is none.
std::string string_of(const nlohmann::json& value, const char* what);

// One line of JSON for `object`. All but ASCII is escaped: readers that split at every character that Unicode
// calls a line break get whole lines all the same.
std::string in_ascii(const nlohmann::json& object);

// What a JSON value is, for messages.
std::string found_text(const nlohmann::json& value);

}  // namespace lynxkv::apps
