#include "results/settings_difference.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace lynxkv::results {
namespace {

using nlohmann::json;

void flatten(const json& value, const std::string& name, std::map<std::string, std::string>& out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) flatten(item, name.empty() ? key : name + "." + key, out);
    return;
  }
  out[name] = value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::map<std::string, std::string> flat(const std::string& text) {
  std::map<std::string, std::string> out;
  const json value = json::parse(text, nullptr, false);
  if (value.is_discarded())
    out["(settings)"] = text;
  else
    flatten(value, "", out);
  return out;
}

}  // namespace

std::string settings_difference(const std::string& before, const std::string& now, int most) {
  const auto was = flat(before);
  const auto is = flat(now);
  std::set<std::string> names;
  for (const auto& [name, value] : was) names.insert(name);
  for (const auto& [name, value] : is) names.insert(name);
  const auto shown = [](const std::map<std::string, std::string>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string("unset") : found->second;
  };
  std::string text;
  int count = 0;
  for (const std::string& name : names) {
    const std::string a = shown(was, name), b = shown(is, name);
    if (a == b || ++count > most) continue;
    text += (text.empty() ? "" : "; ") + name + " was " + a + ", is " + b;
  }
  if (count > most) text += "; and " + std::to_string(count - most) + " more";
  return text;
}

}  // namespace lynxkv::results
