// JSONL files, one object a line.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lynxkv::suite {

// Calls take(object, where) for each line that is not blank; `where` is "FILE, line N" (from 1). Throws
// Error{bad_data} for a file that cannot be read, a line that is no object, and a file without any.
void read_json_lines(const std::string& path,
                     const std::function<void(const nlohmann::json&, const std::string&)>& take);

// The field's text; throws Error{bad_data}. `fallback` where it is absent, if given.
std::string text_field(const nlohmann::json& object, const char* name, const std::string& where,
                       const char* fallback = nullptr);
// The field's list of texts; a single text counts as a list of one. Not empty.
std::vector<std::string> texts_field(const nlohmann::json& object, const char* name,
                                     const std::string& where);

}  // namespace lynxkv::suite
