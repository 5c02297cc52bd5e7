#include "engine/finished_row.hpp"

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "suite/suite.hpp"

namespace lynxkv::engine {
namespace {

// The answer's text: what was committed, without the token that ended it and without other special tokens.
std::string prediction_of(const std::vector<model::TokenId>& ids, const model::Tokenizer& tokenizer) {
  std::vector<model::TokenId> text = ids;
  if (!text.empty() && tokenizer.is_end(text.back())) text.pop_back();
  return tokenizer.decode(text, true);
}

// A moment of this host's steady clock as a time of day, which means the same after a restart and on other hosts.
double unix_seconds_of(std::int64_t ns) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_1970).count() - seconds_between(ns, now_ns());
}

}  // namespace

void fill_times(results::Row& row, const spec::Speculator& speculator, std::int64_t zero_ns) {
  const auto seconds = [zero_ns](std::int64_t ns) { return ns == 0 ? 0.0 : seconds_between(zero_ns, ns); };
  const auto& existed = speculator.existed_ns();
  const auto& committed = speculator.committed_ns();
  row.ttkt_s.clear();
  for (const int mark : results::ttkt_marks)
    if (mark <= static_cast<int>(existed.size()))
      row.ttkt_s.push_back(seconds(existed[static_cast<std::size_t>(mark) - 1]));
  row.commit_s.clear();
  for (const std::int64_t ns : committed) row.commit_s.push_back(seconds(ns));
  if (!existed.empty()) {
    row.ttft_s = row.ttkt_s.front();
    row.ttft_commit_s = row.commit_s.front();
    row.latency_s = row.prefill_s + row.commit_s.back();
  }
  if (committed.size() > 1)
    row.tpot_s = (row.commit_s.back() - row.commit_s.front()) / static_cast<double>(committed.size() - 1);
  row.first_draft_s = seconds(speculator.first_draft_ns());
  row.verified_s = seconds(speculator.verified_ns());
}

results::Row finished_row(const Job& job, const FinishedRequest& finished) {
  const auto& sample = job.samples[static_cast<std::size_t>(finished.assign.sample)];
  const spec::Speculator& speculator = *finished.speculator;
  results::Row row;
  row.key = {sample.suite, sample.task,     sample.length, sample.line, sample.file_hash, job.mode_name(finished.assign.mode),
             job.settings_hash};
  row.prompt_tokens = finished.prompt_tokens;
  row.truncated_tokens = finished.truncated_tokens;
  row.output_ids = speculator.committed();
  row.prediction = prediction_of(speculator.committed(), *job.model.tokenizer);
  row.references = sample.references;
  row.score = suite::score(sample, row.prediction);
  row.finish = spec::name_of(speculator.finish());

  const int prefill = finished.assign.prefill_rank;
  const std::int64_t zero_ns = finished.started.zero_ns + job.courier.clock_offset_ns(prefill);
  row.prefill_s = finished.started.prefill_s;
  fill_times(row, speculator, zero_ns);
  row.t_kv_unix_s = unix_seconds_of(zero_ns);
  row.clock_error_s = static_cast<double>(job.courier.clock_error_ns(prefill)) * 1e-9;
  const auto since_zero = [zero_ns](std::int64_t ns) { return ns == 0 ? 0.0 : seconds_between(zero_ns, ns); };
  row.anchor_ready_s = since_zero(finished.progress.draft_ready_ns);
  row.residual_ready_s = since_zero(finished.progress.target_ready_ns);

  row.drafted = speculator.drafted();
  row.accepted = speculator.accepted();
  row.all_accepted = row.drafted > 0 && row.accepted == row.drafted;
  row.stream_bytes = finished.sent.payload_bytes;
  row.wire_bytes = finished.sent.wire_bytes;
  row.encode_s = finished.sent.encode_s;
  row.decode_s = finished.progress.decode_seconds;
  row.prefill_rank = prefill;
  row.decode_rank = finished.assign.decode_rank;
  row.retries = finished.retries;
  row.start = job.config.transfer.start;
  return row;
}

}  // namespace lynxkv::engine
