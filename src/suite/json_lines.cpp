#include "suite/json_lines.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lynxkv::suite {

using nlohmann::json;

void read_json_lines(const std::string& path,
                     const std::function<void(const json&, const std::string&)>& take) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::bad_data, path, "cannot be read");
  std::string line;
  int number = 0;
  bool any = false;
  while (std::getline(in, line)) {
    ++number;
    if (number == 1 && line.rfind("\xef\xbb\xbf", 0) == 0) line.erase(0, 3);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = path + ", line " + std::to_string(number);
    const json object = json::parse(line, nullptr, false);
    if (object.is_discarded()) throw Error(ErrorCode::bad_data, where, "is not valid JSON");
    if (!object.is_object())
      throw Error(ErrorCode::bad_data, where, std::string("expected an object, found ") + object.type_name());
    take(object, where);
    any = true;
  }
  if (in.bad()) throw Error(ErrorCode::bad_data, path, "cannot be read to its end");
  if (!any) throw Error(ErrorCode::bad_data, path, "expected a JSON object on each line, found none");
}

std::string text_field(const json& object, const char* name, const std::string& where, const char* fallback) {
  const auto found = object.find(name);
  if (found == object.end()) {
    if (fallback != nullptr) return fallback;
    throw Error(ErrorCode::bad_data, where, std::string("field '") + name + "' is missing");
  }
  if (!found->is_string())
    throw Error(ErrorCode::bad_data, where,
                std::string("field '") + name + "': expected text, found " + found->type_name());
  return found->get<std::string>();
}

std::vector<std::string> texts_field(const json& object, const char* name, const std::string& where) {
  const auto found = object.find(name);
  if (found != object.end() && found->is_string()) return {found->get<std::string>()};
  if (found == object.end() || !found->is_array() || found->empty())
    throw Error(ErrorCode::bad_data, where,
                std::string("field '") + name + "': expected a list of texts that is not empty");
  std::vector<std::string> texts;
  for (const json& item : *found) {
    if (!item.is_string())
      throw Error(ErrorCode::bad_data, where,
                  std::string("field '") + name + "': expected texts, found " + item.type_name());
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace lynxkv::suite
