#include "engine/doctor.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/clock.hpp"
#include "comm/courier.hpp"
#include "comm/nccl.hpp"
#include "engine/doctor_checks.hpp"
#include "engine/host.hpp"
#include "engine/version.hpp"
#include "kernels/cuda/devices.hpp"

namespace lynxkv::engine {
namespace {

using Grade = Finding::Grade;

// A message on every channel to every rank; true where one from each came back in time.
std::string unreachable_peers(comm::World& world, const Config& config) {
  comm::Courier courier(world.make_transport(world.uses_mpi() ? config.link.transport : "loop", nccl_options(config.link, {})), {});
  std::set<std::pair<int, int>> missing;
  constexpr comm::Channel channels[] = {comm::Channel::control, comm::Channel::anchor, comm::Channel::residual};
  for (int peer = 0; peer < world.size(); ++peer)
    for (const comm::Channel channel : channels) {
      courier.send({channel, peer, 1, std::vector<std::byte>(32 * 1024, std::byte{7})});
      missing.emplace(peer, static_cast<int>(channel));
    }
  const std::int64_t begun = now_ns();
  while (!missing.empty() && seconds_between(begun, now_ns()) < 20) {
    for (comm::Message message; courier.receive(message);) missing.erase({message.peer, static_cast<int>(message.channel)});
    courier.progress("doctor");
    courier.wait(std::chrono::milliseconds(10));
  }
  std::string text;
  constexpr const char* names[] = {"control", "anchor", "residual"};
  for (const auto& [peer, channel] : missing) text += fmt::format("{}rank {} on {}", text.empty() ? "" : ", ", peer, names[channel]);
  if (missing.empty()) courier.flush(std::chrono::seconds(20));
  return text;
}

std::string gpu_text() {
  const auto list = kernels::cuda::list_devices();
  if (list.devices.empty()) return "none (" + list.note + ")";
  std::string text;
  for (const auto& device : list.devices)
    text += fmt::format("{}{} ({}.{}, {} GiB)", text.empty() ? "" : ", ", device.name, device.major, device.minor, device.memory_bytes >> 30);
  return text;
}

std::map<std::string, std::string> rank_facts(const comm::World& world, const Preparation& preparation) {
  return {{"host", world.host()},
          {"cpu", cpu_name()},
          {"kernels", std::string(model::name_of(preparation.isa))},
          {"threads", std::to_string(preparation.threads)},
          {"CPUs", cpu_mask()},
          {"GPUs", gpu_text()},
          {"NCCL", comm::to_text(comm::nccl_facts())},
          {"memory", std::to_string(available_memory_bytes())}};
}

}  // namespace

Diagnosis examine(comm::World& world, const RunRequest& request) {
  Diagnosis diagnosis;
  auto& findings = diagnosis.findings;
  findings.push_back({Grade::good, fmt::format("lynxkv {} ({}), {} rank{}", version(), revision(), world.size(), world.size() == 1 ? "" : "s"), ""});
  findings.push_back(slurm_tasks(world.size(), std::getenv("SLURM_STEP_NUM_TASKS"), std::getenv("SLURM_NTASKS")));

  Preparation preparation = prepare_roles(world, request);
  findings.push_back({Grade::good, "config, roles, version and environment agree on all ranks", ""});
  const auto ranks = engine::exchange(world, rank_facts(world, preparation));
  for (const RankFacts& rank : ranks)
    findings.push_back({Grade::good,
                        fmt::format("rank {} ({}): {}, {}, kernels {}, {} threads on CPUs {}, GPUs: {}", rank.rank,
                                    preparation.roles.name_of(rank.rank), rank.facts.at("host"), rank.facts.at("cpu"),
                                    rank.facts.at("kernels"), rank.facts.at("threads"), rank.facts.at("CPUs"),
                                    rank.facts.at("GPUs")),
                        ""});
  findings.push_back(nccl_between(ranks, preparation.roles));
  findings.push_back(shared_cores(ranks, preparation));

  const auto silent = engine::exchange(world, {{"silent", unreachable_peers(world, preparation.config)}});
  std::string unheard;
  for (const RankFacts& rank : silent)
    if (!rank.facts.at("silent").empty()) unheard += fmt::format("{}rank {} did not hear {}", unheard.empty() ? "" : "; ", rank.rank, rank.facts.at("silent"));
  findings.push_back(unheard.empty()
                         ? Finding{Grade::good, "every pair of ranks reached each other on every channel", ""}
                         : Finding{Grade::problem, unheard, "check the network between these hosts (mpirun --mca btl_tcp_if_include)"});

  if (!preparation.config.model.path.empty()) {
    Preparation& full = preparation;
    prepare_model(world, full);
    findings.push_back({Grade::good, fmt::format("model {}: {} layers, context {}, {} samples made", full.model.config.name,
                                                 full.model.config.layers, full.model.config.context_tokens, full.samples.size()), ""});
    for (const RankFacts& rank : ranks) findings.push_back(memory_of_rank(rank, ranks, full));
  } else {
    findings.push_back({Grade::warning, "model.path is not set: model, samples and memory were not looked at",
                        "--set model.path=$(jobs/fetch-model.sh)"});
  }
  if (world.rank() == 0) findings.push_back(output_folder(preparation.config.output.dir));
  for (const Finding& finding : findings) diagnosis.fit &= finding.grade != Grade::problem;
  // Rank 0 looks at more than the others do; its word counts for all.
  diagnosis.fit = engine::exchange(world, {{"fit", diagnosis.fit ? "yes" : "no"}}).front().facts.at("fit") == "yes";
  return diagnosis;
}

}  // namespace lynxkv::engine
