#include "apps/jsonl.hpp"

#include <iostream>

#include "base/error.hpp"

namespace lynxkv::apps {

using nlohmann::json;

namespace {

Error bad(const std::string& what) {
  return Error(ErrorCode::bad_data, "", what);
}

json parse(const std::string& line) {
  json object;
  try {
    object = json::parse(line);
  } catch (const json::exception& error) {
    std::string reason = error.what();
    if (const auto end = reason.find("] "); end != std::string::npos) reason = reason.substr(end + 2);
    throw bad("expected a JSON object: " + reason.substr(0, 200));
  }
  if (!object.is_object()) throw bad("expected a JSON object, found " + found_text(object));
  return object;
}

}  // namespace

void for_each_json_line(const std::function<void(const json& object)>& use) {
  std::string line;
  for (std::uint64_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      use(parse(line));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_data) throw;
      throw Error(ErrorCode::bad_data, "standard input, line " + std::to_string(number), error.what());
    }
  }
  if (std::cin.bad()) throw Error(ErrorCode::bad_data, "standard input", "cannot be read");
}

const json& member(const json& object, const char* key, const char* expected) {
  const auto found = object.find(key);
  if (found == object.end()) throw bad(std::string("expected ") + expected + ", found no \"" + key + "\"");
  return *found;
}

std::string string_of(const json& value, const char* what) {
  if (!value.is_string())
    throw bad(std::string("expected a string as ") + what + ", found " + found_text(value));
  return value.get<std::string>();
}

std::string in_ascii(const json& object) {
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string found_text(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return std::string(value.type_name()) + " " + (text.size() > 60 ? text.substr(0, 57) + "..." : text);
}

}  // namespace lynxkv::apps
