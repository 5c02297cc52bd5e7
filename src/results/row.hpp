// One finished sample in one mode: what the journal keeps and HDF5 shows.
// Times are seconds from t_kv (the prefill rank has computed the prompt's KV) unless said otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lynxkv::results {

constexpr std::array<int, 7> ttkt_marks = {1, 2, 4, 8, 16, 32, 64};

// Identity of a sample in a campaign: a key is done once, whatever was retried.
struct RowKey {
  std::string suite;
  std::string task;
  int length = 0;  // nominal, tokens
  std::int64_t line = 0;
  std::uint64_t file_hash = 0;
  std::string mode;
  std::uint64_t settings_hash = 0;
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

struct Row {
  RowKey key;

  std::int64_t prompt_tokens = 0;
  std::int64_t truncated_tokens = 0;     // cut by the truncation policy; 0: none
  std::vector<std::int32_t> output_ids;  // committed, end token included where one was drawn
  std::string prediction;
  std::vector<std::string> references;
  double score = 0;    // 0 .. 1
  std::string finish;  // "stop" | "length" | "context"

  double ttft_s = 0;             // = ttkt_s[0]
  double ttft_commit_s = 0;      // first token committed
  std::vector<double> ttkt_s;    // at ttkt_marks; shorter where fewer tokens came
  std::vector<double> commit_s;  // of each output token
  double tpot_s = 0;             // (last - first commit) / (n - 1); 0 for n < 2
  double latency_s = 0;          // from the request's submission to its last commit
  double prefill_s = 0;          // submission to t_kv

  std::int64_t drafted = 0, accepted = 0, rechecks = 0;
  bool all_accepted = false;                       // one draft, accepted to its last token
  std::array<std::uint64_t, 3> stream_bytes = {};  // payload of anchor, residual, exact
  std::uint64_t wire_bytes = 0;                    // headers included
  double anchor_ready_s = 0, first_draft_s = 0, residual_ready_s = 0, verified_s = 0;  // 0: did not happen
  double encode_s = 0, decode_s = 0;  // codec seconds on the two sides
  double clock_error_s = 0;           // of the offset between the two ranks' clocks
  double t_kv_unix_s = 0;             // t_kv by the decode host's time of day, seconds since 1970; 0: not noted

  int prefill_rank = 0, decode_rank = 0;
  int retries = 0;    // frames asked for again
  std::string start;  // "streaming" | "after_prefill"

  friend bool operator==(const Row&, const Row&) = default;
};

}  // namespace lynxkv::results
