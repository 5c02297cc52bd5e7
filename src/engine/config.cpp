#include "engine/config.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "codec/codec.hpp"
#include "codec/options.hpp"
#include "engine/config_keys.hpp"
#include "engine/transfer_options.hpp"
#include "model/forward.hpp"

namespace lynxkv::engine {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::usage, where, what);
}

const ConfigKey& find_key(const std::string& where, const std::string& name) {
  std::vector<std::string_view> names;
  for (const ConfigKey& key : config_keys()) {
    if (key.name == name) return key;
    names.push_back(key.name);
  }
  refuse(where, "unknown key '" + name + "'; did you mean '" + std::string(nearest(name, names)) + "'?");
}

bool names_group(const std::string& name) {
  const auto inside = [&](const ConfigKey& key) { return key.name.substr(0, name.size() + 1) == name + "."; };
  return std::any_of(config_keys().begin(), config_keys().end(), inside);
}

std::string found_text(const YAML::Node& value) {
  if (value.IsScalar()) return "'" + value.Scalar() + "'";
  return value.IsSequence() ? "a list" : value.IsMap() ? "keys with values" : "nothing";
}

// The value of "key=value". YAML that is none is a usage error like any other value.
YAML::Node parse_value(const std::string& item, const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    refuse("--set " + item, error.msg);
  }
}

void set_key(Config& config, const std::string& where, const std::string& name, const YAML::Node& value) {
  // link.faults and the like: a group of keys as a map.
  if (value.IsMap() && names_group(name)) {
    for (const auto& item : value) set_key(config, where, name + "." + item.first.as<std::string>(""), item.second);
    return;
  }
  const ConfigKey& key = find_key(where, name);
  try {
    key.read(config, value);
  } catch (const std::invalid_argument& expected) {
    refuse(where, "key '" + name + "' takes " + expected.what() + ", not " + found_text(value));
  }
}

void read_tree(Config& config, const std::string& where, const YAML::Node& root) {
  if (root.IsNull()) return;
  if (!root.IsMap()) refuse(where, "expected sections (model, transfer, ...), each with keys");
  std::vector<std::string_view> sections;
  for (const ConfigKey& key : config_keys()) {
    const auto section = key.name.substr(0, key.name.find('.'));
    if (sections.empty() || sections.back() != section) sections.push_back(section);
  }
  for (const auto& entry : root) {
    const auto section = entry.first.as<std::string>("");
    if (std::find(sections.begin(), sections.end(), section) == sections.end())
      refuse(where, unknown_name("section", section, sections));
    if (entry.second.IsNull()) continue;
    if (!entry.second.IsMap()) refuse(where, "section '" + section + "' takes keys with values");
    for (const auto& item : entry.second)
      set_key(config, where, section + "." + item.first.as<std::string>(""), item.second);
  }
}

// The preset named last, by --set or else in the file, comes first: keys beside it change what it stands for.
void apply_preset(Config& config, const std::string& path, const YAML::Node& root, const std::vector<std::string>& overrides) {
  constexpr std::string_view key = "transfer.preset";
  std::string name = config.transfer.preset;
  const auto take = [&](const std::string& where, const YAML::Node& value) {
    set_key(config, where, std::string(key), value);  // of the right type
    name = config.transfer.preset;
  };
  if (root.IsMap() && root["transfer"] && root["transfer"].IsMap() && root["transfer"]["preset"])
    take(path, root["transfer"]["preset"]);
  for (const std::string& item : overrides)
    if (item.rfind(std::string(key) + "=", 0) == 0) take("--set", parse_value(item, item.substr(key.size() + 1)));
  const auto names = codec::preset_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) refuse(std::string(key), unknown_name("preset", name, names));
  set_codec_options(config.transfer, codec::preset_options(name));
}

void one_of(const char* key, const std::string& value, std::initializer_list<std::string_view> allowed) {
  const std::vector<std::string_view> names(allowed);
  if (std::find(names.begin(), names.end(), value) == names.end())
    refuse(key, unknown_name("value", value, names));
}

void between(const char* key, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    refuse(key, fmt::format("must be a number from {:.15g} to {:.15g}, found {:.15g}", low, high, value));
  }
}

template <class T>
void no_repeats(const char* key, std::vector<T> values) {
  std::sort(values.begin(), values.end());
  if (const auto twice = std::adjacent_find(values.begin(), values.end()); twice != values.end())
    refuse(key, "names " + nlohmann::json(*twice).dump() + " twice");
}

void check_transfer(const TransferSection& transfer, int prefill_chunk) {
  if (transfer.modes.empty()) refuse("transfer.modes", "needs at least one mode");
  no_repeats("transfer.modes", transfer.modes);
  const auto names = codec::mode_names();
  for (const std::string& mode : transfer.modes)
    if (std::find(names.begin(), names.end(), mode) == names.end())
      refuse("transfer.modes", unknown_name("mode", mode, names));
  one_of("transfer.start", transfer.start, {"streaming", "after_prefill"});
  one_of("transfer.centre", transfer.centre, {"mid", "mean"});
  one_of("transfer.sigma", transfer.sigma, {"log", "linear"});
  one_of("transfer.fit", transfer.fit, {"extremes", "least_error"});
  between("transfer.page_tokens", transfer.page_tokens, 1, 256);
  if (transfer.chunk_tokens != 32) refuse("transfer.chunk_tokens", "only 32 is defined by the page format");
  if (transfer.page_tokens % transfer.chunk_tokens != 0)
    refuse("transfer.page_tokens", "must be a multiple of transfer.chunk_tokens (32)");
  between("transfer.alpha", transfer.alpha, 0.001, 1000);
  if (transfer.alpha_v != 0) between("transfer.alpha_v", transfer.alpha_v, 0.001, 1000);
  between("transfer.chunk_tokens_v", transfer.chunk_tokens_v, 0, 256);
  for (const auto& [key, channels] : {std::pair{"transfer.early_channels_k", transfer.early_channels_k},
                                      std::pair{"transfer.early_channels_v", transfer.early_channels_v}}) {
    between(key, channels, 0, 1 << 20);
    if (channels % 2 != 0) refuse(key, "must be even, found " + std::to_string(channels));
  }
  between("transfer.early_tokens_k", transfer.early_tokens_k, 0, 1 << 30);
  between("transfer.early_tokens_v", transfer.early_tokens_v, 0, 1 << 30);
  if (transfer.levels != 112 && transfer.levels != 120) refuse("transfer.levels", "must be 112 or 120");
  between("transfer.sinks", transfer.sinks, 0, 255);
  if (prefill_chunk < 1 || prefill_chunk > 65536 || prefill_chunk % transfer.page_tokens != 0)
    refuse("engine.prefill_chunk", "must be a multiple of transfer.page_tokens (" +
                                       std::to_string(transfer.page_tokens) + "), found " + std::to_string(prefill_chunk));
}

void check(const Config& config) {
  one_of("model.kv_dtype", config.model.kv_dtype, {"bf16"});
  between("roles.prefill", config.roles.prefill, 1, 65536);
  between("roles.decode", config.roles.decode, 1, 65536);
  check_transfer(config.transfer, config.engine.prefill_chunk);
  one_of("link.transport", config.link.transport, {"mpi", "nccl", "loop"});
  between("link.gbps", config.link.gbps, 0, 1e6);
  between("link.latency_us", config.link.latency_us, 0, 1e7);
  between("link.residual_chunk_kib", config.link.residual_chunk_kib, 0, 256);
  between("link.faults.flip", config.link.fault_flip, 0, 1);
  between("link.faults.drop", config.link.fault_drop, 0, 1);
  between("link.faults.delay", config.link.fault_delay_ms, 0, 10000);
  between("link.faults.stall", config.link.fault_stall_s, 0, 3600);
  between("link.stall_s", config.link.stall_s, 1, 1e6);
  if (!config.link.traffic_classes.empty() && config.link.traffic_classes.size() != 2)
    refuse("link.traffic_classes", "must be [anchor, residual], or [] for none");
  for (const int traffic_class : config.link.traffic_classes) between("link.traffic_classes", traffic_class, 0, 255);
  between("speculation.cap", config.speculation.cap, 0, 1024);
  if (config.speculation.temperature != 0) refuse("speculation.temperature", "only 0 (greedy) is offered by this version");
  one_of("speculation.exactness", config.speculation.exactness, {"strict"});
  between("engine.max_batch", config.engine.max_batch, 1, 1024);
  one_of("engine.backend", config.engine.backend, {"cpu"});
  between("engine.threads", config.engine.threads, 0, 512);
  if (config.engine.isa != "auto") (void)model::isa_from(config.engine.isa);
  between("engine.kv_memory_gib", config.engine.kv_memory_gib, 0, 1e6);
  between("suite.samples", config.suite.samples, 0, 1e7);  // 0: all that the file has
  if (config.suite.tasks.empty()) refuse("suite.tasks", "needs at least one task");
  no_repeats("suite.tasks", config.suite.tasks);
  no_repeats("suite.lengths", config.suite.lengths);
  if (config.suite.lengths.empty()) refuse("suite.lengths", "needs at least one length");
  for (const int length : config.suite.lengths) between("suite.lengths", length, 0, 1e7);  // 0: the text as it is
  between("suite.max_tokens", config.suite.max_tokens, 0, 1e6);
  one_of("suite.template", config.suite.chat_template, {"auto", "none"});
  one_of("suite.truncation", config.suite.truncation, {"error", "middle", "left"});
  if (config.output.dir.empty()) refuse("output.dir", "names no folder");
  between("output.fsync_s", config.output.fsync_s, 0, 3600);
  between("output.progress_s", config.output.progress_s, 0.1, 3600);
  between("output.stop_before_end_s", config.output.stop_before_end_s, 0, 86400);
  between("output.stop_grace_s", config.output.stop_grace_s, 1, 86400);
}

}  // namespace

Config load_config(const std::string& path, const std::vector<std::string>& overrides) {
  Config config;
  YAML::Node root;
  if (!path.empty()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) refuse(path, "is a folder; expected a config file (YAML)");
    try {
      root = YAML::LoadFile(path);
    } catch (const YAML::BadFile&) {
      refuse(path, "the config file cannot be opened");
    } catch (const YAML::Exception& error) {
      refuse(path, "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    }
  }
  apply_preset(config, path, root, overrides);
  if (!path.empty()) read_tree(config, path, root);
  for (const std::string& item : overrides) {
    const auto equals = item.find('=');
    if (equals == std::string::npos || equals == 0) refuse("--set " + item, "expected key=value");
    set_key(config, "--set", item.substr(0, equals), parse_value(item, item.substr(equals + 1)));
  }
  check(config);
  return config;
}

std::string to_yaml(const Config& config) {
  std::string text;
  std::string_view section;
  for (const ConfigKey& key : config_keys()) {
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += std::string(section) + ":\n";
    }
    text += "  " + std::string(key.name.substr(dot + 1)) + ": " + key.print(config) + "\n";
  }
  return text;
}

std::string explained_yaml(const Config& config) {
  const Config defaults;
  std::string text =
      "# Every key of a run, with its value here. \"result\": it changes what comes out, so an output folder keeps to one value;\n"
      "# \"placement\": it does not.\n";
  std::string_view section;
  for (const ConfigKey& key : config_keys()) {
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += fmt::format("\n{}:\n", section);
    }
    text += fmt::format("  # {}.\n  # {} ({}); default {}; e.g. {}\n  {}: {}\n", key.meaning, key.value,
                        key.kind == KeyKind::result ? "result" : "placement", key.print(defaults), key.example,
                        key.name.substr(dot + 1), key.print(config));
  }
  return text;
}

std::string result_keys_json(const Config& config) {
  nlohmann::json keys = nlohmann::json::object();
  for (const ConfigKey& key : config_keys())
    if (key.kind == KeyKind::result) keys[std::string(key.name)] = nlohmann::json::parse(key.print(config));
  return keys.dump();
}

}  // namespace lynxkv::engine
