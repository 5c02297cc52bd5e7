// lynxkv: one program, a file for each subcommand.
#include <unistd.h>

#include <algorithm>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "apps/command.hpp"
#include "apps/command_line.hpp"
#include "apps/option_checks.hpp"
#include "apps/commands.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"

namespace {

using lynxkv::apps::Command;
using lynxkv::apps::Run;

// CLI11 says what it did not understand; the nearest valid name is ours to add.
std::string with_hint(const CLI::App& root, const std::string& message, int argc, char** argv) {
  if (argc < 2) return message;
  const CLI::App* chosen = nullptr;
  for (const CLI::App* sub : root.get_subcommands([](const CLI::App*) { return true; }))
    if (sub->get_name() == argv[1]) chosen = sub;
  if (chosen == nullptr) return message;
  std::vector<std::string> options;
  for (const CLI::App* app = chosen; app != nullptr; app = app->get_subcommands().empty() ? nullptr : app->get_subcommands().front())
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames())
        if (std::find(options.begin(), options.end(), "--" + name) == options.end()) options.push_back("--" + name);
  for (int i = 2; i < argc; ++i) {
    std::string given = argv[i];
    if (given.rfind("--", 0) != 0 || given.size() < 3) continue;
    given = given.substr(0, given.find('='));
    if (std::find(options.begin(), options.end(), given) != options.end()) continue;
    std::vector<std::string_view> views(options.begin(), options.end());
    return lynxkv::unknown_name("option", given, views);
  }
  return message;
}

// A command that is not there, before CLI11 takes a --help behind it for the program's own. Empty: all are known.
std::string unknown_command(const CLI::App& root, int argc, char** argv) {
  const CLI::App* at = &root;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string_view> names;
    const CLI::App* found = nullptr;
    const auto subcommands = at->get_subcommands([](const CLI::App*) { return true; });
    if (subcommands.empty()) break;
    for (const CLI::App* sub : subcommands) {
      names.push_back(sub->get_name());
      if (sub->get_name() == argv[i]) found = sub;
    }
    if (found == nullptr) return lynxkv::unknown_name("command", argv[i], names);
    at = found;
  }
  return {};
}

// Threads that wait for each other spin a little and then sleep. The default of the OpenMP runtime spins for
// milliseconds: on a host whose cores are shared with anybody, every wait then costs a time slice. The runtime
// reads its environment when it is loaded, so the program starts itself once more with it set.
void bound_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 0);
  execv("/proc/self/exe", argv);  // where it cannot, nothing is lost but speed
}

int fail(const std::string& text, int code) {
  std::string line = "lynxkv: " + text;
  for (char& c : line)
    if (c == '\n') c = ' ';
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  bound_spinning(argv);
  prctl(PR_SET_NAME, "lynxkv");  // not what it started itself as
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves early is an error of writing, not a death
  CLI::App app{"LynxKV: prefill and decode on separate ranks, KV pages in fidelity streams", "lynxkv"};
  app.require_subcommand(1);
  app.set_version_flag("--version", LYNXKV_VERSION);
  std::vector<std::pair<CLI::App*, Run>> commands;
  for (const Command& command : lynxkv::apps::all_commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer("Example:\n  " + lynxkv::apps::as_called(command.example));
    commands.emplace_back(sub, command.set_up(*sub));
  }
  if (const std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) return fail(unknown, 2);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return fail(with_hint(app, lynxkv::apps::conversion_text(error.what()), argc, argv), 2);
  }
  try {
    for (const auto& [sub, run] : commands)
      if (sub->parsed()) {
        const int code = run();
        std::cout.flush();
        if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
          return fail("standard output could not be written", 2);
        return code;
      }
  } catch (const lynxkv::Error& error) {
    return fail(error.what(), lynxkv::exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return fail("out of memory", 75);
  } catch (const std::exception& error) {
    return fail(std::string("unexpected: ") + error.what(), 3);
  }
  return 2;
}
