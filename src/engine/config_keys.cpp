#include "engine/config_keys.hpp"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

namespace lynxkv::engine {
namespace {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  else if constexpr (std::is_integral_v<T>) return "a whole number";
  else if constexpr (std::is_floating_point_v<T>) return "a number";
  else return "a text";
}

template <class T>
T scalar(const YAML::Node& node) {
  if (!node.IsScalar()) throw std::invalid_argument(type_name<T>());
  try {
    return node.as<T>();
  } catch (const YAML::Exception&) {
    throw std::invalid_argument(type_name<T>());
  }
}

template <class T>
void assign(T& out, const YAML::Node& node) {
  out = scalar<T>(node);
}

// A list, or one value for a list of one.
template <class T>
void assign(std::vector<T>& out, const YAML::Node& node) {
  std::vector<T> read;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) read.push_back(scalar<T>(item));
  } else if (node.IsScalar()) {
    read.push_back(scalar<T>(node));
  } else {
    throw std::invalid_argument(std::string("a list, each ") + type_name<T>());
  }
  out = std::move(read);
}

template <class Section, class T>
ConfigKey key(std::string_view name, KeyKind kind, Section Config::*section, T Section::*field) {
  return {name, kind,
          [=](Config& config, const YAML::Node& node) { assign(config.*section.*field, node); },
          [=](const Config& config) { return nlohmann::json(config.*section.*field).dump(); }};
}

// roles.prefill / roles.decode: a count, or a list of ranks.
ConfigKey role_key(std::string_view name, int RolesSection::*count, std::vector<int> RolesSection::*ranks) {
  return {name, KeyKind::placement,
          [=](Config& config, const YAML::Node& node) {
            if (node.IsSequence()) {
              assign(config.roles.*ranks, node);
              config.roles.*count = static_cast<int>((config.roles.*ranks).size());
            } else {
              assign(config.roles.*count, node);
              (config.roles.*ranks).clear();
            }
          },
          [=](const Config& config) {
            const auto& listed = config.roles.*ranks;
            return listed.empty() ? nlohmann::json(config.roles.*count).dump() : nlohmann::json(listed).dump();
          }};
}

std::vector<ConfigKey> make_keys() {
  constexpr auto result = KeyKind::result, placement = KeyKind::placement;
  using C = Config;
  return {
      // The model's identity is the hash of its contents; its path may move.
      key("model.path", placement, &C::model, &ModelSection::path),
      key("model.kv_dtype", result, &C::model, &ModelSection::kv_dtype),
      role_key("roles.prefill", &RolesSection::prefill, &RolesSection::prefill_ranks),
      role_key("roles.decode", &RolesSection::decode, &RolesSection::decode_ranks),
      key("transfer.modes", result, &C::transfer, &TransferSection::modes),
      key("transfer.start", result, &C::transfer, &TransferSection::start),
      key("transfer.page_tokens", result, &C::transfer, &TransferSection::page_tokens),
      key("transfer.chunk_tokens", result, &C::transfer, &TransferSection::chunk_tokens),
      // What it stands for is in the keys below it.
      key("transfer.preset", placement, &C::transfer, &TransferSection::preset),
      key("transfer.alpha", result, &C::transfer, &TransferSection::alpha),
      key("transfer.alpha_v", result, &C::transfer, &TransferSection::alpha_v),
      key("transfer.levels", result, &C::transfer, &TransferSection::levels),
      key("transfer.centre", result, &C::transfer, &TransferSection::centre),
      key("transfer.sigma", result, &C::transfer, &TransferSection::sigma),
      key("transfer.sinks", result, &C::transfer, &TransferSection::sinks),
      key("transfer.fit", result, &C::transfer, &TransferSection::fit),
      key("transfer.chunk_tokens_v", result, &C::transfer, &TransferSection::chunk_tokens_v),
      key("transfer.early_channels_k", result, &C::transfer, &TransferSection::early_channels_k),
      key("transfer.early_channels_v", result, &C::transfer, &TransferSection::early_channels_v),
      key("transfer.early_tokens_k", result, &C::transfer, &TransferSection::early_tokens_k),
      key("transfer.early_tokens_v", result, &C::transfer, &TransferSection::early_tokens_v),
      key("link.transport", result, &C::link, &LinkSection::transport),
      key("link.gbps", result, &C::link, &LinkSection::gbps),
      key("link.latency_us", result, &C::link, &LinkSection::latency_us),
      key("link.residual_chunk_kib", result, &C::link, &LinkSection::residual_chunk_kib),
      key("link.strict", result, &C::link, &LinkSection::strict),
      key("link.faults.flip", result, &C::link, &LinkSection::fault_flip),
      key("link.faults.drop", result, &C::link, &LinkSection::fault_drop),
      key("link.faults.delay", result, &C::link, &LinkSection::fault_delay_ms),
      key("link.faults.stall", result, &C::link, &LinkSection::fault_stall_s),
      key("link.faults.control", result, &C::link, &LinkSection::fault_control),
      key("link.faults.seed", result, &C::link, &LinkSection::fault_seed),
      key("link.stall_s", placement, &C::link, &LinkSection::stall_s),
      key("link.traffic_classes", placement, &C::link, &LinkSection::traffic_classes),
      key("speculation.cap", result, &C::speculation, &SpeculationSection::cap),
      key("speculation.temperature", result, &C::speculation, &SpeculationSection::temperature),
      key("speculation.exactness", result, &C::speculation, &SpeculationSection::exactness),
      key("engine.max_batch", placement, &C::engine, &EngineSection::max_batch),
      key("engine.prefill_chunk", result, &C::engine, &EngineSection::prefill_chunk),
      key("engine.backend", placement, &C::engine, &EngineSection::backend),
      key("engine.threads", placement, &C::engine, &EngineSection::threads),
      // What "auto" came to is hashed by the run, not this spelling.
      key("engine.isa", placement, &C::engine, &EngineSection::isa),
      key("engine.kv_memory_gib", placement, &C::engine, &EngineSection::kv_memory_gib),
      key("suite.name", result, &C::suite, &SuiteSection::name),
      key("suite.tasks", result, &C::suite, &SuiteSection::tasks),
      key("suite.lengths", result, &C::suite, &SuiteSection::lengths),
      key("suite.samples", result, &C::suite, &SuiteSection::samples),
      key("suite.file", result, &C::suite, &SuiteSection::file),
      key("suite.text", result, &C::suite, &SuiteSection::text),
      key("suite.seed", result, &C::suite, &SuiteSection::seed),
      key("suite.max_tokens", result, &C::suite, &SuiteSection::max_tokens),
      key("suite.template", result, &C::suite, &SuiteSection::chat_template),
      key("suite.truncation", result, &C::suite, &SuiteSection::truncation),
      key("output.dir", placement, &C::output, &OutputSection::dir),
      key("output.fsync_s", placement, &C::output, &OutputSection::fsync_s),
      key("output.progress_s", placement, &C::output, &OutputSection::progress_s),
      key("output.stop_before_end_s", placement, &C::output, &OutputSection::stop_before_end_s),
      key("output.stop_grace_s", placement, &C::output, &OutputSection::stop_grace_s),
  };
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

}  // namespace lynxkv::engine
