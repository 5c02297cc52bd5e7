// Which rank takes which GPU for the NCCL transport, decided alike on all ranks from what each of them sees.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace lynxkv::comm {

using Route = std::pair<int, int>;  // sender, receiver

struct NcclFacts {
  std::string host;
  std::string version;            // "2.28.9"; empty where the program was built without
  std::vector<std::string> gpus;  // by device number: what tells a GPU from all others of its host (PCI bus id)
  std::string trouble;            // why there is no GPU, or what in the environment is in the way
  int queues = 32;                // streams that do not wait for each other on a GPU (CUDA_DEVICE_MAX_CONNECTIONS)
};

std::string to_text(const NcclFacts& facts);
// Error{transport} for a text that to_text() has not made.
Result<NcclFacts> parse_nccl_facts(std::string_view text);

// The device of each rank: the ranks of a host take its GPUs in turn, each the first of those it sees that is free.
// Ranks in no route need none and get -1. Error{usage}, one line that names the ranks and says what to do, where a rank
// has no GPU of its own, versions differ, or a rank's streams would wait for each other.
Result<std::vector<int>> place_on_gpus(const std::vector<NcclFacts>& by_rank, const std::vector<Route>& routes);

// Every rank to every other.
std::vector<Route> all_routes(int ranks);

}  // namespace lynxkv::comm
