#include "results/link_settings.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace lynxkv::results {
namespace {

using nlohmann::json;
using Settings = std::map<std::string, json>;

constexpr const char* seed = "link.faults.seed";

// Of every key of the link that changes results; one that is not listed is always told.
const Settings& defaults() {
  static const Settings values = {{"link.transport", "mpi"},      {"link.gbps", 0.0},         {"link.latency_us", 0.0},
                                  {"link.residual_chunk_kib", 0}, {"link.strict", false},     {"link.faults.flip", 0.0},
                                  {"link.faults.drop", 0.0},      {"link.faults.delay", 0.0}, {"link.faults.stall", 0.0},
                                  {"link.faults.control", false}, {seed, 1}};
  return values;
}

bool is_default(const std::string& key, const json& value) {
  const auto found = defaults().find(key);
  return found != defaults().end() && found->second == value;
}

// The defaults, and what the output says.
Settings settings_of(const std::string& result_config) {
  Settings settings = defaults();
  const json config = json::parse(result_config, nullptr, false);
  if (config.is_object())
    for (const auto& [key, value] : config.items())
      if (key.starts_with("link.")) settings[key] = value;
  const auto may_fail = [](const auto& setting) {
    return setting.first.starts_with("link.faults.") && setting.first != seed && !is_default(setting.first, setting.second);
  };
  if (std::none_of(settings.begin(), settings.end(), may_fail)) settings[seed] = defaults().at(seed);
  return settings;
}

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::vector<std::string> link_settings(const std::vector<std::string>& result_configs) {
  std::vector<Settings> all;
  std::set<std::string> told;
  for (const std::string& config : result_configs) all.push_back(settings_of(config));
  for (const Settings& settings : all)
    for (const auto& [key, value] : settings)
      if (!is_default(key, value)) told.insert(key);
  std::vector<std::string> texts;
  for (const Settings& settings : all) {
    std::string text;
    for (const std::string& key : told) {
      const auto found = settings.find(key);
      if (found == settings.end()) continue;
      text += (text.empty() ? "" : ", ") + key + " " + shown(found->second);
      if (is_default(key, found->second)) text += " (default)";
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace lynxkv::results
