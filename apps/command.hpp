// A subcommand of `lynxkv`: adds its options to `app` and says what to run once they are parsed.
// The function that runs returns the exit code; it may throw lynxkv::Error, which main turns into one line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace lynxkv::apps {

using Run = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;
  // The example under --help: a line that works as it stands.
  const char* example;
  Run (*set_up)(CLI::App& app);
};

}  // namespace lynxkv::apps
