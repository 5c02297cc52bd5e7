#include "apps/commands.hpp"

#include <vector>

namespace lynxkv::apps {

// Each is defined in the file of its name.

std::span<const Command> all_commands() {
  static const std::vector<Command> commands = {
  };
  return commands;
}

}  // namespace lynxkv::apps
