// lynxkv run: a campaign under mpirun or srun, or alone.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/command.hpp"
#include "apps/commands.hpp"
#include "apps/print_report.hpp"
#include "base/log.hpp"
#include "comm/world.hpp"
#include "engine/campaign.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::apps {
namespace {

struct RunArguments {
  engine::RunRequest request;
  bool dry_run = false;
  bool dump_prompts = false;
  bool keys = false;
  bool verbose = false;
};

int finish(const engine::RunOutcome& outcome) {
  print_report({outcome.output_dir}, ReportFormat::text);
  std::printf("\n%lld rows in %s", static_cast<long long>(outcome.rows), outcome.hdf5_path.c_str());
  if (outcome.rows_before > 0) std::printf(" (%lld from earlier attempts)", static_cast<long long>(outcome.rows_before));
  std::printf("\n");
  if (!outcome.complete) std::fprintf(stderr, "lynxkv: incomplete: run the same command again to do what is missing\n");
  return outcome.complete ? 0 : 75;
}

void print_plan(const engine::Preparation& preparation) {
  std::printf("%s\n%s", engine::to_yaml(preparation.config).c_str(), engine::role_table(preparation).c_str());
  const std::string& path = preparation.config.model.path;
  std::error_code ignored;
  if (path.empty())
    std::fprintf(stderr, "lynxkv: model.path names no model yet; the run itself needs one\n");
  else if (!std::filesystem::exists(path, ignored))
    std::fprintf(stderr, "lynxkv: model.path: '%s' is not there; the run itself needs it\n", path.c_str());
}

// Rank 0 writes it. Where it cannot, nobody reads a model first.
void check_output_folder(const comm::World& world, const std::string& folder) {
  std::optional<Error> failed;
  try {
    if (world.rank() == 0) results::check_folder(folder);
  } catch (const Error& error) {
    failed = error;
  }
  engine::agree_on_failure(world, failed);
}

int run_ranks(comm::World& world, const RunArguments& arguments) {
  engine::Preparation preparation = engine::prepare_roles(world, arguments.request);
  if (arguments.dry_run) {
    if (world.rank() == 0) print_plan(preparation);
    return 0;
  }
  check_output_folder(world, preparation.config.output.dir);
  engine::prepare_model(world, preparation);
  if (world.rank() == 0) std::fprintf(stderr, "%s", engine::role_table(preparation).c_str());
  const engine::RunOutcome outcome = engine::run_campaign(world, preparation, arguments.dump_prompts);
  if (world.rank() == 0) return finish(outcome);
  return outcome.complete ? 0 : 75;
}

int run(const RunArguments& arguments) {
  if (arguments.keys) {
    std::printf("%s", engine::explained_yaml(engine::load_config(arguments.request.config_path, arguments.request.overrides)).c_str());
    return 0;
  }
  comm::World world;
  log::configure(arguments.verbose ? log::Level::info : log::Level::warning,
                 world.size() > 1 ? "rank " + std::to_string(world.rank()) : "");
  try {
    return run_ranks(world, arguments);
  } catch (const engine::AgreedError& error) {
    if (world.rank() == 0) std::fprintf(stderr, "lynxkv: %s\n", error.what());
    return exit_code(error.code());
  } catch (const Error& error) {
    if (world.size() == 1) throw;
    std::fprintf(stderr, "lynxkv: rank %d: %s\n", world.rank(), error.what());
    // Another rank's error may be the cause of this one: the launcher has to get its line before it ends them all.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    world.abort(exit_code(error.code()));
  } catch (const std::exception& error) {
    if (world.size() == 1) throw;
    std::fprintf(stderr, "lynxkv: rank %d: unexpected: %s\n", world.rank(), error.what());
    world.abort(4);
  }
}

Run set_up(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  app.add_option("config", arguments->request.config_path, "Run config (YAML); every key has a default");
  app.add_option("--set", arguments->request.overrides, "key=value on top of the config, as often as needed")->allow_extra_args(false);
  app.add_option("--out", arguments->request.output_dir, "Output folder (output.dir)")
      ->check([](const std::string& folder) { return folder.empty() ? std::string("names no folder") : std::string(); });
  app.add_flag("--dry-run", arguments->dry_run, "Print the whole effective config and the role map, run nothing");
  app.add_flag("--keys", arguments->keys, "Print every key with its meaning, default and an example, as a config to start from; run nothing");
  app.add_flag("--dump-prompts", arguments->dump_prompts, "Write prompts.jsonl into the output folder");
  app.add_flag("-v,--verbose", arguments->verbose, "Log more");
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command run_command;
const Command run_command = {
    "run", "Run a campaign: prefill, transfer, speculative decode, score, results",
    "mpirun -n 2 --bind-to none lynxkv run configs/quickstart.yaml --set model.path=$(jobs/fetch-model.sh) --out out",
    set_up};

}  // namespace lynxkv::apps
