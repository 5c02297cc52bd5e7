// The subcommands, in the order in which --help lists them.
#pragma once

#include <span>

#include "apps/command.hpp"

namespace lynxkv::apps {

std::span<const Command> all_commands();

}  // namespace lynxkv::apps
