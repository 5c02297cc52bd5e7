#include "model/json_input.hpp"

#include <set>
#include <vector>

#include "base/error.hpp"

namespace lynxkv::model {

using nlohmann::json;

json parse_json(std::string_view text, const std::string& name, std::string_view what) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::string twice;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > 100) throw Error(ErrorCode::bad_data, name, "JSON nested deeper than 100 levels");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second && twice.empty())
      twice = parsed.get<std::string>();
    return true;
  };
  json value;
  try {
    value = json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    std::string reason = error.what();  // "[json.exception.parse_error.101] parse error at line 1 ..."
    if (const auto end = reason.find("] "); end != std::string::npos) reason = reason.substr(end + 2);
    throw Error(ErrorCode::bad_data, name,
                "expected " + std::string(what) + " in JSON: " + reason.substr(0, 200));
  }
  if (!twice.empty())
    throw Error(ErrorCode::bad_data, name,
                "the key '" + twice.substr(0, 60) + "' stands twice in one object");
  return value;
}

std::string kind_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float:
      return "the number " + value.dump();
    default:
      return "something else";
  }
}

}  // namespace lynxkv::model
