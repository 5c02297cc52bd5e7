// What the rows of one or more outputs say, by suite, task, length and mode. Pure: rows in, numbers out.
// Medians are over samples; a number that cannot be formed is NaN. Times are those of results/row.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "results/link_model.hpp"
#include "results/output.hpp"

namespace lynxkv::results {

struct ReportLine {
  std::size_t output = 0;  // which of the outputs
  std::string mode;
  std::string start;          // "mixed" where the rows differ
  std::int64_t samples = 0;   // that count here
  std::int64_t left_out = 0;  // there, but without a partner in the other outputs

  double score_percent = 0;
  // Against the bf16 rows of the same samples (of the same output, else of another one).
  std::int64_t compared = 0;        // samples that have such a row
  double same_tokens_percent = 0;   // equal positions / the longer output's positions, mean over samples
  double same_outputs_percent = 0;  // samples whose outputs are identical

  double ttft_s = 0, ttft_commit_s = 0;                        // medians
  std::array<double, ttkt_marks.size()> ttkt_s{};              // median over the samples that came so far
  std::array<std::int64_t, ttkt_marks.size()> ttkt_samples{};  // how many did
  double tpot_s = 0, latency_s = 0, prefill_s = 0;  // medians; TPOT over samples of two tokens or more
  double prompt_tokens = 0, output_tokens = 0;      // means

  std::array<double, 3> stream_bytes{};  // mean payload: anchor, residual, exact
  double wire_bytes = 0;                 // mean, headers included
  double bits_per_element =
      0;  // payload bits / KV elements of the prompt's pages; NaN: size of the KV not known
  double drafted = 0, accepted = 0;  // means over samples
  double accepted_percent = 0;       // accepted / drafted; NaN where nothing was drafted
  double all_accepted_percent = 0;   // of the samples that drafted; NaN likewise
  std::int64_t truncated = 0;        // samples whose prompt was cut
  std::int64_t retries = 0;          // frames asked for again
};

struct ReportGroup {
  std::string suite, task;
  int length = 0;
  std::vector<ReportLine> lines;  // by mode (in the order of the documentation), then by output
};

// Of an output: the samples that something was sent for, and those of them that were on the link with another one.
struct LinkUse {
  std::size_t requests = 0, shared = 0;
};

struct Report {
  std::vector<std::string> outputs;  // names
  std::vector<ReportGroup> groups;   // by suite, task, length
  std::vector<LinkModel> links;      // by output; unknown where no fit is possible
  std::vector<LinkUse> link_uses;    // by output
  std::vector<std::string> link_settings;  // by output: those that are not the default, or differ between outputs
  std::vector<std::string> notes;    // what a reader has to know to read the numbers right
};

// Where several outputs hold the same task and length, only samples count that each of them holds, in some mode and,
// where several have the line's mode, in that.
Report make_report(const std::vector<Output>& outputs);

// Equal positions over the positions of the longer one; 1 where both are empty.
double token_agreement(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b);

double median(std::vector<double> values);  // NaN of none

}  // namespace lynxkv::results
