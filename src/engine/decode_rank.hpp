// The decode side of a rank: receives pages, drafts on what is there, verifies, and finishes samples. All
// requests that have rows to run go through the model together, in one ragged batch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/job.hpp"
#include "page/sequence_kv.hpp"
#include "results/row.hpp"
#include "spec/speculator.hpp"
#include "stream/deserializer.hpp"

namespace lynxkv::engine {

class DecodeRank {
 public:
  DecodeRank(Job& job, int coordinator);

  void on(const Assign& assign);
  void on(const Started& started);
  void on(const Sent& sent);
  // A message of a data channel. Throws Error{transport} where it contradicts what was announced.
  void accept(comm::Message message);

  // One bounded piece of work: a batch of rows, or the completion of some pages. False where there was none.
  bool step();
  bool idle() const noexcept { return requests_.empty() && waiting_.empty(); }

 private:
  struct Request {
    Request(page::PagePool& pool, spec::SpeculatorOptions options) : kv(pool), speculator(std::move(options)) {}
    Assign assign;
    page::SequenceKv kv;
    spec::Speculator speculator;
    std::int64_t reserved_blocks = 0;
    int prompt_tokens = 0;
    std::int64_t truncated_tokens = 0;
    bool hurried = false;
    bool started = false, sent = false;
    Started start;
    Sent totals;
    int retries = 0;
    int overdue = 0;  // times that everything missing was asked for
  };

  void admit_waiting();
  spec::Fidelity fidelity(const Request& request) const;
  bool ask_again();
  void ask_for_overdue();
  bool run_batch();
  bool finish_done();
  results::Row make_row(const Request& request) const;
  std::uint64_t received_bytes() const;

  Job& job_;
  int coordinator_;
  stream::Deserializer deserializer_;
  std::uint64_t received_bytes_ = 0;  // of whole payloads, when last looked at
  std::map<int, std::int64_t> heard_ns_;  // when data came last, by peer
  std::int64_t looked_ns_ = 0;            // when overdue data was looked for last
  std::deque<Assign> waiting_;
  std::map<std::uint64_t, std::unique_ptr<Request>> requests_;  // the oldest first
};

}  // namespace lynxkv::engine
