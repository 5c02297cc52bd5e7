// A whole run: prepare, work, write the results. Called by every rank of the job.
#pragma once

#include <cstdint>
#include <string>

#include "comm/world.hpp"
#include "engine/preparation.hpp"

namespace lynxkv::engine {

struct RunOutcome {
  bool complete = false;        // every planned row is in the results
  std::string output_dir;
  std::string hdf5_path;        // on rank 0
  std::int64_t rows = 0;        // on rank 0: rows in the results
  std::int64_t rows_before = 0; // on rank 0: of them, found from earlier attempts
  std::uint64_t torn_bytes = 0; // on rank 0: dropped from the journal's tail
};

// Runs what is missing of the campaign. Throws AgreedError for a failure that all ranks know of (print it once,
// leave in order); any other exception is this rank's own, and the job has to be aborted with its code.
RunOutcome run_campaign(comm::World& world, Preparation& preparation, bool dump_prompts);

}  // namespace lynxkv::engine
