// The coordinator, on rank 0: which sample runs where and when. It admits a sample only when both its ranks
// have room for it, oldest first, and writes every finished row to the journal.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "engine/job.hpp"
#include "results/journal.hpp"

namespace lynxkv::engine {

// Pages that a rank can hold, in blocks of the pool; the same rank may hold both roles.
struct Capacity {
  std::vector<std::int64_t> blocks;  // by rank
};

class Coordinator {
 public:
  Coordinator(Job& job, results::Journal& journal, const Capacity& capacity);

  void on(const Done& done);
  // Starts nothing more; the requests that run are finished.
  void stop() noexcept { stopping_ = true; }

  // Admits what fits. False where nothing could be started. Throws Error{usage} for a sample that can never fit.
  bool step();
  // Nothing runs and nothing more will be started.
  bool finished() const noexcept { return running_.empty() && (stopping_ || next_ == pending_.size()); }
  bool complete() const noexcept { return rows_done_ == rows_planned_; }

  std::int64_t running() const noexcept { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t rows_done() const noexcept { return rows_done_; }
  std::int64_t rows_planned() const noexcept { return rows_planned_; }
  std::int64_t tokens_out() const noexcept { return tokens_out_; }

 private:
  // A sample with the modes that are still to do, one after another.
  struct Pending {
    std::int64_t sample = 0;
    std::vector<std::int32_t> modes;
  };
  struct Running {
    Pending work;
    std::size_t next_mode = 0;
    int prefill_rank = 0, decode_rank = 0;
    std::int64_t prefill_blocks = 0, decode_blocks = 0;
  };

  bool admit(const Pending& work);
  void assign_next(std::int64_t sample);
  int least_loaded(const std::vector<int>& ranks, std::int64_t blocks, int other_rank, std::int64_t other_blocks) const;

  Job& job_;
  results::Journal& journal_;
  std::vector<std::int64_t> capacity_, reserved_;  // by rank
  std::vector<int> load_;                          // samples by rank
  std::vector<Pending> pending_;
  std::size_t next_ = 0;
  int head_tokens_ = 0;  // prompt tokens of pending_[next_]; 0: not counted yet
  std::map<std::int64_t, Running> running_;         // by sample
  std::map<std::uint64_t, std::int64_t> requests_;  // request -> sample
  std::uint64_t next_request_ = 1;
  std::int64_t rows_done_ = 0, rows_planned_ = 0, tokens_out_ = 0;
  bool stopping_ = false;
};

// Pages of both sides for one sample, in blocks.
struct SampleBlocks {
  std::int64_t prefill = 0, decode = 0;
};
SampleBlocks blocks_of(const Job& job, int prompt_tokens, int max_tokens) noexcept;

}  // namespace lynxkv::engine
