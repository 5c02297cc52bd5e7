// What all ranks must agree on before a run: build, settings, model, tokenizer, data, environment. One message
// names the ranks and the values that differ. They also agree on the best kernel path that all CPUs have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/world.hpp"

namespace lynxkv::engine {

// Facts of one rank, by name. Those named in `must_agree` are compared, the others are reported.
struct RankFacts {
  int rank = 0;
  std::map<std::string, std::string> facts;
};

// Every rank's facts, by rank. Collective.
std::vector<RankFacts> exchange(const comm::World& world, const std::map<std::string, std::string>& mine);

// Throws Error{usage} where a fact of `names` differs: "model: ranks 0,1 have A; rank 2 has B".
void require_equal(const std::vector<RankFacts>& all, const std::vector<std::string>& names);

// Variables of the environment that steer communication (NCCL_*, UCX_*, OMPI_MCA_*), less those that a launcher
// sets for each rank by itself. One text, sorted.
std::string communication_environment();

}  // namespace lynxkv::engine
