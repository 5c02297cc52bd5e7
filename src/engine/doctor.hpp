// Can this job run here? Looks at the ranks, the config, files, memory, disk and the links between all pairs.
#pragma once

#include <string>
#include <vector>

#include "comm/world.hpp"
#include "engine/preparation.hpp"

namespace lynxkv::engine {

struct Finding {
  enum class Grade { good, warning, problem };
  Grade grade = Grade::good;
  std::string what;    // what was looked at and found
  std::string advice;  // what to do; empty where it is good
};

// Collective. Findings are complete on rank 0; every rank learns whether there was a problem.
struct Diagnosis {
  std::vector<Finding> findings;
  bool fit = true;
};
Diagnosis examine(comm::World& world, const RunRequest& request);

}  // namespace lynxkv::engine
