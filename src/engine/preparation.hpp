// Everything that a rank needs before the first request, agreed on by all: config, roles, model, samples.
// Each stage is collective: where one rank fails, all of them leave with that rank's message and code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/world.hpp"
#include "engine/agreement.hpp"
#include "engine/config.hpp"
#include "engine/roles.hpp"
#include "model/forward.hpp"
#include "model/model_file.hpp"
#include "suite/sample.hpp"

namespace lynxkv::engine {

// A failure that every rank knows of: one of them prints it, and all leave in order with its code.
class AgreedError : public Error {
 public:
  explicit AgreedError(const Error& error) : Error(error) {}
};

// Rethrows `mine`, or the first failure of another rank, on all ranks as AgreedError. Collective.
void agree_on_failure(const comm::World& world, const std::optional<Error>& mine);

struct RunRequest {
  std::string config_path;
  std::vector<std::string> overrides;
  std::string output_dir;  // empty: the config's
};

struct Preparation {
  Config config;
  RoleMap roles;
  std::vector<RankFacts> ranks;   // host, cores, mask, isa, capacity ... by rank
  std::vector<int> gpus;          // device of each rank for link.transport: nccl, -1 for none; empty for the others
  model::Isa isa = model::Isa::avx2;
  int threads = 1;
  std::vector<std::int64_t> capacity_blocks;  // page tensors that each rank can hold, by rank

  model::ModelFile model;
  std::vector<suite::Sample> samples;
  std::string result_json;        // what results depend on: keys, hashes, kernel path; canonical JSON
  std::uint64_t settings_hash = 0;
  std::string data_hash;
};

// Config and roles; ranks compared. Reads no model. Collective.
Preparation prepare_roles(const comm::World& world, const RunRequest& request);
// Model file, tokenizer, samples; hashes compared. Collective.
void prepare_model(const comm::World& world, Preparation& preparation);

// For link.transport: nccl. `routes`: who sends data to whom; empty: every rank to every other.
comm::NcclOptions nccl_options(const LinkSection& link, std::vector<comm::Route> routes);

// Counts tokens for the suites' generators.
std::vector<suite::Sample> make_samples(const Config& config, const model::ModelFile& model);

// One line a rank: role, host, threads, CPU mask, kernel path, page tensors.
std::string role_table(const Preparation& preparation);

}  // namespace lynxkv::engine
