#include "apps/completeness.hpp"

#include <cstdio>

#include "base/error.hpp"

namespace lynxkv::apps {

void add_partial_option(CLI::App& app, bool& partial) {
  app.add_flag("--partial", partial, "Incomplete results are wanted: end with 0, not with 75");
}

int code_for(std::span<const results::Output> outputs, bool partial) {
  bool complete = true;
  for (const results::Output& output : outputs) {
    if (output.complete == true) continue;
    complete = false;
    std::fprintf(stderr, output.complete ? "lynxkv: %s: incomplete: run the same command again to do what is missing%s\n"
                                         : "lynxkv: %s: not known to be complete: no results.h5, so its run did not end in order; run the same "
                                           "command again%s\n",
                 output.name.c_str(), partial ? "" : " (--partial takes what is there)");
  }
  return complete || partial ? 0 : exit_code(ErrorCode::incomplete);
}

}  // namespace lynxkv::apps
