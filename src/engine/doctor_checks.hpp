// The doctor's single looks: each takes what was found and gives one finding.
#pragma once

#include <string>
#include <vector>

#include "engine/doctor.hpp"

namespace lynxkv::engine {

// Ranks of the job against the tasks that Slurm started (texts of its variables; null where unset).
Finding slurm_tasks(int world_size, const char* step_tasks, const char* job_tasks);
// Whether the ranks of a host ask for more threads than it has cores.
Finding shared_cores(const std::vector<RankFacts>& ranks, const Preparation& preparation);
// NCCL's version, and whether it could carry this job's data. That it cannot is no fault where MPI does.
Finding nccl_between(const std::vector<RankFacts>& ranks, const RoleMap& roles);
// Weights and the KV of the longest prompts against the memory that is free, for one rank.
Finding memory_of_rank(const RankFacts& rank, const std::vector<RankFacts>& ranks, const Preparation& preparation);
// Whether the folder can be written and has room.
Finding output_folder(const std::string& directory);

}  // namespace lynxkv::engine
