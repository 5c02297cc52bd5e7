#include "engine/doctor_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "comm/nccl_placement.hpp"
#include "engine/host.hpp"

namespace lynxkv::engine {
namespace {

using Grade = Finding::Grade;

double gib(double bytes) { return bytes / 1073741824.0; }

// Parameters of the model, by its shapes.
double parameters(const model::ModelConfig& config) {
  const double attention = 2.0 * config.hidden * config.head_dim * (config.heads + config.kv_heads);
  const double mlp = 3.0 * config.hidden * config.intermediate;
  return config.layers * (attention + mlp) + static_cast<double>(config.vocab) * config.hidden * (config.tied_embeddings ? 1 : 2);
}

}  // namespace

Finding slurm_tasks(int world_size, const char* step_tasks, const char* job_tasks) {
  if (step_tasks != nullptr) {
    if (std::atoi(step_tasks) == world_size)
      return {Grade::good, fmt::format("Slurm started {} tasks in this step, all of them ranks of one job", step_tasks), ""};
    return {Grade::warning, fmt::format("Slurm started {} tasks in this step, but the job has {} ranks", step_tasks, world_size),
            "inside mpirun that may be meant; under srun use --mpi=pmix"};
  }
  if (job_tasks != nullptr && std::atoi(job_tasks) != world_size)
    return {Grade::warning, fmt::format("the Slurm job has {} tasks, but {} ranks were started", job_tasks, world_size),
            "start as many ranks as the job was given, unless fewer are meant"};
  return {Grade::good, job_tasks != nullptr ? "the ranks are the tasks of the Slurm job" : "not inside a Slurm job", ""};
}

Finding shared_cores(const std::vector<RankFacts>& ranks, const Preparation& preparation) {
  std::map<std::string, int> threads;
  for (const RankFacts& rank : ranks) threads[rank.facts.at("host")] += std::atoi(rank.facts.at("threads").c_str());
  std::map<std::string, int> cores;
  for (const RankFacts& rank : preparation.ranks) {
    int& most = cores[rank.facts.at("host")];
    most = std::max(most, std::atoi(rank.facts.at("cores").c_str()));
  }
  for (const auto& [host, wanted] : threads) {
    const auto here = static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](const RankFacts& rank) { return rank.facts.at("host") == host; }));
    const int there = std::max(cores[host], 1);
    if (wanted > there && wanted > here)
      return {Grade::warning, fmt::format("the ranks on {} start {} threads, but may use {} cores", host, wanted, there),
              "lower engine.threads, or start the ranks with --bind-to none"};
  }
  return {Grade::good, "threads fit the cores of every host", ""};
}

Finding nccl_between(const std::vector<RankFacts>& ranks, const RoleMap& roles) {
  std::vector<comm::NcclFacts> facts;
  for (const RankFacts& rank : ranks) facts.push_back(comm::parse_nccl_facts(rank.facts.at("NCCL")).take());
  const std::string version = facts.front().version.empty() ? "NCCL: built without" : "NCCL " + facts.front().version;
  std::vector<comm::Route> routes = roles.data_routes();
  std::erase_if(routes, [](const comm::Route& route) { return route.first == route.second; });
  if (routes.empty()) return {Grade::good, version + "; a job of one rank has no use for it", ""};
  const auto devices = comm::place_on_gpus(facts, routes);
  if (!devices.ok()) return {Grade::good, fmt::format("{}; this job cannot use it ({})", version, devices.error().what()), ""};
  std::string text;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (const int device = devices.value()[rank]; device >= 0)
      text += fmt::format("{}rank {} GPU {}", text.empty() ? "" : ", ", rank, facts[rank].gpus[static_cast<std::size_t>(device)]);
  return {Grade::good, fmt::format("{}; link.transport: nccl would work: {}", version, text), ""};
}

Finding memory_of_rank(const RankFacts& rank, const std::vector<RankFacts>& ranks, const Preparation& preparation) {
  const model::ModelConfig& model = preparation.model.config;
  const auto here = static_cast<double>(std::count_if(ranks.begin(), ranks.end(), [&](const RankFacts& other) {
    return other.facts.at("host") == rank.facts.at("host");
  }));
  const double weights = 2.0 * parameters(model);
  const int longest = *std::max_element(preparation.config.suite.lengths.begin(), preparation.config.suite.lengths.end());
  const double kv = 4.0 * model.layers * model.kv_heads * model.head_dim * longest * preparation.config.engine.max_batch;
  const double needed = weights + 1.35 * kv + 300e6;
  const double free = std::atof(rank.facts.at("memory").c_str()) / std::max(1.0, here);
  const std::string text = fmt::format("rank {}: {:.2f} GiB needed at full batch (weights {:.2f}, KV {:.2f} x 1.35, 0.28 more), {:.2f} GiB free for it",
                                       rank.rank, gib(needed), gib(weights), gib(kv), gib(free));
  if (weights + 300e6 > free) return {Grade::problem, text, "use hosts with more memory or fewer ranks a host"};
  if (needed > free) return {Grade::warning, text, "fewer requests will run at a time; lower engine.max_batch or suite.lengths"};
  return {Grade::good, text, ""};
}

Finding output_folder(const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  const std::filesystem::path probe = std::filesystem::path(directory) / ".lynxkv-doctor";
  const bool written = static_cast<bool>(std::ofstream(probe) << "x" << std::flush);
  std::filesystem::remove(probe, failure);
  if (!written) return {Grade::problem, "the output folder " + directory + " cannot be written", "choose another with --out"};
  const std::int64_t free = free_disk_bytes(directory);
  const std::string text = fmt::format("the output folder {} can be written, {:.1f} GiB free", directory, gib(static_cast<double>(free)));
  if (free >= 0 && free < (std::int64_t{256} << 20)) return {Grade::warning, text, "make room: a full disk ends a run (nothing is lost)"};
  return {Grade::good, text, ""};
}

}  // namespace lynxkv::engine
