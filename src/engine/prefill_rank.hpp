// The prefill side of a rank: computes each prompt's KV once, in chunks, and sends it in every mode asked for.
// Sending overlaps computing: page tensors are encoded between the layers of a chunk and between chunks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/job.hpp"
#include "engine/release_times.hpp"
#include "page/sequence_kv.hpp"
#include "stream/serializer.hpp"

namespace lynxkv::engine {

class PrefillRank {
 public:
  explicit PrefillRank(Job& job);

  void on(const Assign& assign);
  void on(const Ready& ready);
  void on(const Resend& resend);
  void on(const Release& release);
  void on(const Hurry& hurry);

  // One bounded piece of work: a chunk of a prompt, or some page tensors. False where there was none.
  bool step();
  bool idle() const noexcept { return prompts_.empty() && waiting_.empty(); }
  // A replayed prefill goes on: nothing to do until its next pages become available, and no stall either.
  bool replays() const noexcept;

 private:
  // A sample whose KV is, or will be, in this rank's pages.
  struct PromptKv {
    explicit PromptKv(page::PagePool& pool) : kv(pool) {}
    std::int64_t sample = 0;
    std::vector<model::TokenId> ids;
    page::SequenceKv kv;
    std::int64_t reserved_blocks = 0;
    std::int64_t submitted_ns = 0, begun_ns = 0, computed_ns = 0;
    bool wanted = false;  // its first request is ready to receive
    bool last_released = false;
    ReleaseTimes released;

    int kv_tokens() const { return static_cast<int>(ids.size()) - 1; }
    bool computed() const { return computed_ns != 0; }
  };
  // One request: a prompt on its way in one mode.
  struct Sending {
    std::uint64_t request = 0;
    std::shared_ptr<PromptKv> prompt;
    int mode = 0, decode_rank = 0;
    bool last = false;
    bool live = false;       // goes out while its prompt is computed (streaming, first mode)
    bool opened = false, started = false, sent = false;
    std::int64_t replay_ns = 0;  // time on which the recorded release times of a replay are based
    std::size_t next = 0;        // index into the order of page tensors
  };

  void admit_waiting();
  void open(Sending& sending);
  void start(Sending& sending, std::int64_t zero_ns);
  bool may_send(const Sending& sending, std::size_t index) const;
  bool push_next(Sending& sending);
  bool service_sends();
  bool prefill_chunk();

  Job& job_;
  stream::Serializer serializer_;
  std::deque<Assign> waiting_;  // not yet admitted to the pool, oldest first
  std::set<std::uint64_t> ready_early_;  // not admitted yet, their receivers are ready
  std::map<std::int64_t, std::shared_ptr<PromptKv>> prompts_;  // by sample
  std::map<std::uint64_t, Sending> sendings_;                  // by request: the oldest first
};

}  // namespace lynxkv::engine
