// One rank at work: messages in, bounded steps of its roles, sleep where there is nothing to do.
#pragma once

#include <memory>

#include "engine/coordinator.hpp"
#include "engine/decode_rank.hpp"
#include "engine/job.hpp"
#include "engine/prefill_rank.hpp"
#include "engine/progress.hpp"

namespace lynxkv::engine {

class RankLoop {
 public:
  // `journal` is given on rank 0 only: that rank coordinates and writes.
  RankLoop(Job& job, results::Journal* journal, const Capacity& capacity);

  // Until the coordinator ends the job. True where every planned row is done.
  bool run();
  // The job was left although requests run, for it was asked to stop and nothing moved any more.
  bool abandoned() const noexcept { return abandoned_; }
  const Coordinator* coordinator() const noexcept { return coordinator_.get(); }

 private:
  bool take_messages();
  void dispatch(const Control& message);
  void watch_signals();
  void stop_starting();
  void tell_moving();
  void abandon();
  void coordinate(bool& worked);

  Job& job_;
  results::Journal* journal_;
  int rank_;
  std::unique_ptr<PrefillRank> prefill_;
  std::unique_ptr<DecodeRank> decode_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<ProgressLine> progress_;
  std::int64_t rows_before_ = 0, relayed_ns_ = 0;
  bool stop_told_ = false, abandoned_ = false, ended_ = false, end_sent_ = false, complete_ = false;
};

}  // namespace lynxkv::engine
