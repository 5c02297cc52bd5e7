// Several outputs of one campaign (the shards of a job array, say) as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/output.hpp"

namespace lynxkv::results {

struct MergeOutcome {
  std::uint64_t rows = 0;        // in the merged output
  std::uint64_t duplicates = 0;  // samples that several outputs hold; the first one's row was taken
  std::uint64_t conflicts = 0;   // of these, how many with other output tokens
  bool complete = false;         // every output says that it is complete
};

// Writes journal and results.h5 into the folder `into`; run again, it adds what is missing. Throws
// Error{usage} where the outputs are of different settings (with the difference), or `into` is one of them.
MergeOutcome merge_outputs(const std::vector<Output>& outputs, const std::string& into);

}  // namespace lynxkv::results
