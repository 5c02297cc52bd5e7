// What commands that hand results on to other programs say of incomplete ones: a pipeline must not go on with a part of a
// campaign unless that is wanted.
#pragma once

#include <span>

#include "apps/command.hpp"
#include "results/output.hpp"

namespace lynxkv::apps {

void add_partial_option(CLI::App& app, bool& partial);

// The exit code of a command that has handed on all there is: 0, or 75 with a line on stderr for each output that is not
// known to be complete (a journal alone does not know what was planned), unless `partial` results are wanted.
int code_for(std::span<const results::Output> outputs, bool partial);

}  // namespace lynxkv::apps
