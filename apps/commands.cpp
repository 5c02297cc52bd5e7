#include "apps/commands.hpp"

#include <vector>

namespace lynxkv::apps {

// Each is defined in the file of its name.
extern const Command codec_command;

std::span<const Command> all_commands() {
  static const std::vector<Command> commands = {
      codec_command,
  };
  return commands;
}

}  // namespace lynxkv::apps
