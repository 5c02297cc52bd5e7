// Rows for the tests of this room.
#pragma once

#include <string>

#include "results/row.hpp"

namespace lynxkv::results::testing {

inline Row sample_row(std::int64_t line, const std::string& mode = "lynx") {
  Row row;
  row.key = {"ruler", "niah_single", 2048, line, 0xfedcba9876543210u, mode, 77};
  row.prompt_tokens = 2101;
  row.output_ids = {5, 49151, 0, static_cast<std::int32_t>(line)};
  row.prediction = "The number is 12\xc3\xa9.";
  row.references = {"12", "twelve"};
  row.score = 0.5;
  row.finish = "stop";
  row.ttft_s = 0.125;
  row.ttft_commit_s = 0.3;
  row.ttkt_s = {0.125, 0.15, 0.2};
  row.commit_s = {0.3, 0.3, 0.3, 0.31};
  row.tpot_s = 0.01 / 3;
  row.latency_s = 1.5;
  row.prefill_s = 1.19;
  row.drafted = 3;
  row.accepted = 2;
  row.rechecks = 1;
  row.all_accepted = false;
  row.stream_bytes = {1000, 900, 0};
  row.wire_bytes = 2060;
  row.anchor_ready_s = 0.1;
  row.first_draft_s = 0.125;
  row.residual_ready_s = 0.25;
  row.verified_s = 0.3;
  row.encode_s = 0.001;
  row.decode_s = 0.002;
  row.clock_error_s = 1e-6;
  row.t_kv_unix_s = 1.75e9;
  row.prefill_rank = 0;
  row.decode_rank = 1;
  row.retries = 2;
  row.start = "after_prefill";
  return row;
}

}  // namespace lynxkv::results::testing
