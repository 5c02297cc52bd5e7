#include "engine/coordinator.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "page/sequence_kv.hpp"
#include "results/row_codec.hpp"

namespace lynxkv::engine {

SampleBlocks blocks_of(const Job& job, int prompt_tokens, int max_tokens) noexcept {
  const page::Geometry& geometry = job.pool.geometry();
  // Behind the prompt: the answer, and the rows of one verification pass.
  const int tail = max_tokens + job.config.speculation.cap + 2;
  return {page::SequenceKv::blocks_needed(geometry, prompt_tokens - 1, 0),
          page::SequenceKv::blocks_needed(geometry, prompt_tokens - 1, tail)};
}

Coordinator::Coordinator(Job& job, results::Journal& journal, const Capacity& capacity)
    : job_(job),
      journal_(journal),
      capacity_(capacity.blocks),
      reserved_(capacity.blocks.size(), 0),
      load_(capacity.blocks.size(), 0) {
  std::set<results::RowKey> done;
  for (const results::Row& row : journal.before().rows) done.insert(row.key);
  const auto modes = static_cast<std::int32_t>(job.config.transfer.modes.size());
  for (std::size_t i = 0; i < job.samples.size(); ++i) {
    const suite::Sample& sample = job.samples[i];
    Pending work{static_cast<std::int64_t>(i), {}};
    for (std::int32_t mode = 0; mode < modes; ++mode) {
      ++rows_planned_;
      const results::RowKey key{sample.suite, sample.task,        sample.length,    sample.line,
                                sample.file_hash, job.mode_name(mode), job.settings_hash};
      if (done.contains(key)) ++rows_done_;
      else work.modes.push_back(mode);
    }
    if (!work.modes.empty()) pending_.push_back(std::move(work));
  }
}

// The rank with the fewest samples that has room; -1 where none has. Where it is `other_rank` itself, its pages
// for the other role count too.
int Coordinator::least_loaded(const std::vector<int>& ranks, std::int64_t blocks, int other_rank,
                              std::int64_t other_blocks) const {
  int best = -1;
  for (const int rank : ranks) {
    const auto r = static_cast<std::size_t>(rank);
    const std::int64_t wanted = blocks + (rank == other_rank ? other_blocks : 0);
    if (reserved_[r] + wanted > capacity_[r]) continue;
    if (best < 0 || load_[r] < load_[static_cast<std::size_t>(best)]) best = rank;
  }
  return best;
}

bool Coordinator::admit(const Pending& work) {
  const int max_tokens = job_.samples[static_cast<std::size_t>(work.sample)].max_tokens;
  if (head_tokens_ == 0) head_tokens_ = static_cast<int>(job_.prompt(work.sample).ids.size());
  const int tokens = head_tokens_;
  const SampleBlocks need = blocks_of(job_, tokens, max_tokens);
  std::vector<int> decoders;
  for (const int rank : job_.roles.decode)
    if (load_[static_cast<std::size_t>(rank)] < job_.config.engine.max_batch) decoders.push_back(rank);
  const int prefill = least_loaded(job_.roles.prefill, need.prefill, -1, 0);
  const int decode = prefill < 0 ? -1 : least_loaded(decoders, need.decode, prefill, need.prefill);
  if (prefill < 0 || decode < 0) {
    if (running_.empty()) {
      const auto largest = [&](const std::vector<int>& ranks) {
        std::int64_t most = 0;
        for (const int rank : ranks) most = std::max(most, capacity_[static_cast<std::size_t>(rank)]);
        return std::to_string(most);
      };
      throw Error(ErrorCode::usage, "engine.kv_memory_gib",
                  "a sample of " + std::to_string(tokens) + " + " + std::to_string(max_tokens) + " tokens needs " +
                      std::to_string(need.prefill) + " page tensors for prefill and " + std::to_string(need.decode) +
                      " for decode; the ranks hold at most " + largest(job_.roles.prefill) + " and " +
                      largest(job_.roles.decode) + " (" + std::to_string(job_.pool.block_bytes()) +
                      " bytes each): give more memory or shorter prompts");
    }
    return false;
  }
  Running running{work, 0, prefill, decode, need.prefill, need.decode};
  reserved_[static_cast<std::size_t>(prefill)] += need.prefill;
  reserved_[static_cast<std::size_t>(decode)] += need.decode;
  ++load_[static_cast<std::size_t>(prefill)];
  if (decode != prefill) ++load_[static_cast<std::size_t>(decode)];
  running_.emplace(work.sample, std::move(running));
  assign_next(work.sample);
  return true;
}

void Coordinator::assign_next(std::int64_t sample) {
  Running& running = running_.at(sample);
  Assign assign;
  assign.request = next_request_++;
  assign.sample = sample;
  assign.mode = running.work.modes[running.next_mode++];
  assign.prefill_rank = running.prefill_rank;
  assign.decode_rank = running.decode_rank;
  assign.last = running.next_mode == running.work.modes.size() ? 1 : 0;
  requests_.emplace(assign.request, sample);
  job_.tell(assign.prefill_rank, assign);
  if (assign.decode_rank != assign.prefill_rank) job_.tell(assign.decode_rank, assign);
}

void Coordinator::on(const Done& done) {
  const auto found = requests_.find(done.request);
  if (found == requests_.end())
    throw Error(ErrorCode::transport, "request " + std::to_string(done.request), "is reported done, but does not run");
  const results::Row row = results::decode_row(done.row).take();
  journal_.append(row);
  ++rows_done_;
  tokens_out_ += static_cast<std::int64_t>(row.output_ids.size());

  const std::int64_t sample = found->second;
  requests_.erase(found);
  Running& running = running_.at(sample);
  if (!stopping_ && running.next_mode < running.work.modes.size()) {
    assign_next(sample);
    return;
  }
  reserved_[static_cast<std::size_t>(running.prefill_rank)] -= running.prefill_blocks;
  reserved_[static_cast<std::size_t>(running.decode_rank)] -= running.decode_blocks;
  --load_[static_cast<std::size_t>(running.prefill_rank)];
  if (running.decode_rank != running.prefill_rank) --load_[static_cast<std::size_t>(running.decode_rank)];
  running_.erase(sample);
}

bool Coordinator::step() {
  if (stopping_ || next_ == pending_.size() || !admit(pending_[next_])) return false;
  ++next_;
  head_tokens_ = 0;
  return true;
}

}  // namespace lynxkv::engine
