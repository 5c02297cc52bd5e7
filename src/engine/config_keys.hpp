// The table of all configuration keys: name, kind, meaning, how to read and to print each. One place knows them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/config.hpp"

namespace YAML {
class Node;
}

namespace lynxkv::engine {

enum class KeyKind { result, placement };

struct ConfigKey {
  std::string_view name;  // dotted
  KeyKind kind;
  std::string_view meaning;  // a line without a full stop: what it does, the names or range that it takes, its unit
  std::string value;         // "a whole number", "a list, each a text"
  std::string_view example;  // YAML that the key takes
  // Takes a YAML value; throws std::invalid_argument with what was expected.
  std::function<void(Config&, const YAML::Node&)> read;
  // The value as JSON text (JSON scalars and lists are YAML too).
  std::function<std::string(const Config&)> print;
};

std::span<const ConfigKey> config_keys();

}  // namespace lynxkv::engine
