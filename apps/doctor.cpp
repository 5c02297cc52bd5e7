// lynxkv doctor: under the launcher, says whether this job can run here and what to do where it cannot.
#include <cstdio>
#include <memory>

#include "apps/command.hpp"
#include "base/log.hpp"
#include "comm/world.hpp"
#include "engine/doctor.hpp"

namespace lynxkv::apps {
namespace {

void print(const engine::Diagnosis& diagnosis) {
  constexpr const char* marks[] = {"ok     ", "WARNING", "PROBLEM"};
  for (const engine::Finding& finding : diagnosis.findings) {
    std::printf("%s  %s\n", marks[static_cast<int>(finding.grade)], finding.what.c_str());
    if (!finding.advice.empty()) std::printf("         -> %s\n", finding.advice.c_str());
  }
  std::printf(diagnosis.fit ? "this job can run here\n" : "this job cannot run here as it is\n");
}

int run(const engine::RunRequest& request) {
  comm::World world;
  log::configure(log::Level::warning, world.size() > 1 ? "rank " + std::to_string(world.rank()) : "");
  try {
    const engine::Diagnosis diagnosis = engine::examine(world, request);
    if (world.rank() == 0) print(diagnosis);
    return diagnosis.fit ? 0 : 2;
  } catch (const engine::AgreedError& error) {
    if (world.rank() == 0) std::fprintf(stderr, "lynxkv: %s\n", error.what());
    return exit_code(error.code());
  } catch (const std::exception& error) {
    if (world.size() == 1) throw;
    std::fprintf(stderr, "lynxkv: rank %d: %s\n", world.rank(), error.what());
    world.abort(4);
  }
}

Run set_up(CLI::App& app) {
  auto request = std::make_shared<engine::RunRequest>();
  app.add_option("config", request->config_path, "Run config (YAML)");
  app.add_option("--set", request->overrides, "key=value on top of the config")->allow_extra_args(false);
  app.add_option("--out", request->output_dir, "Output folder (output.dir)");
  return [request] { return run(*request); };
}

}  // namespace

extern const Command doctor_command;
const Command doctor_command = {"doctor", "Can this job run here: ranks, links, files, memory, disk",
                                "mpirun -n 2 lynxkv doctor configs/quickstart.yaml", set_up};

}  // namespace lynxkv::apps
