// lynxkv merge: the shards of a campaign as one output.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/commands.hpp"
#include "apps/completeness.hpp"
#include "results/merge.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::apps {
namespace {

struct MergeArguments {
  std::vector<std::string> outputs;
  std::string into;
  bool partial = false;
};

int run(const MergeArguments& arguments) {
  results::check_folder(arguments.into);
  std::vector<results::Output> outputs;
  for (const std::string& path : arguments.outputs) outputs.push_back(results::load_output(path));
  const auto outcome = results::merge_outputs(outputs, arguments.into);
  std::printf("%llu rows of %zu outputs in %s/results.h5\n", static_cast<unsigned long long>(outcome.rows),
              outputs.size(), arguments.into.c_str());
  if (outcome.duplicates > 0)
    std::fprintf(stderr,
                 "lynxkv: %llu samples were there more than once and count once; %llu of them with other "
                 "output tokens\n",
                 static_cast<unsigned long long>(outcome.duplicates),
                 static_cast<unsigned long long>(outcome.conflicts));
  return code_for(outputs, arguments.partial);
}

Run set_up(CLI::App& app) {
  auto arguments = std::make_shared<MergeArguments>();
  app.add_option("outputs", arguments->outputs,
                 "Output folders, journals or results files of the same settings")
      ->required();
  app.add_option("--into", arguments->into, "Folder for the merged journal and results file")->required();
  add_partial_option(app, arguments->partial);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command merge_command;
const Command merge_command = {"merge", "Merge the outputs of a job array",
                               "lynxkv merge out/quickstart --into out/merged", set_up};

}  // namespace lynxkv::apps
