// The result row of a finished request: every time and count by the definition that is stored with it.
#pragma once

#include <cstdint>

#include "engine/job.hpp"
#include "results/row.hpp"
#include "spec/speculator.hpp"
#include "stream/deserializer.hpp"

namespace lynxkv::engine {

struct FinishedRequest {
  Assign assign;
  Started started;
  Sent sent;
  stream::Progress progress;
  int prompt_tokens = 0;
  std::int64_t truncated_tokens = 0;
  int retries = 0;
  const spec::Speculator* speculator = nullptr;
};

// Token times of one request relative to time zero (seconds). A drafted and accepted token exists from its
// draft on; a replaced one from its commit. `zero_ns` is on the clock of the times.
void fill_times(results::Row& row, const spec::Speculator& speculator, std::int64_t zero_ns);

results::Row finished_row(const Job& job, const FinishedRequest& finished);

}  // namespace lynxkv::engine
