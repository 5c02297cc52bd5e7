// Progress of a run, from rank 0, on stderr: a bar on a terminal, in a batch log a line every so many seconds.
#pragma once

#include <cstdint>
#include <string>

namespace lynxkv::engine {

class ProgressLine {
 public:
  explicit ProgressLine(double seconds_between_lines);
  // `done` of `total` rows, of which `before` were there at the start; tokens committed in this attempt;
  // seconds until the job's time is up (negative: no limit known).
  void show(std::int64_t done, std::int64_t before, std::int64_t total, std::int64_t tokens, double time_left_s);
  void finish();

 private:
  bool terminal_;
  double interval_s_;
  std::int64_t started_ns_, shown_ns_ = 0;
  std::int64_t shown_done_ = -1;
};

// The line's text, without line end. Times in seconds.
std::string progress_text(std::int64_t done, std::int64_t before, std::int64_t total, std::int64_t tokens,
                          double elapsed_s, double time_left_s);

}  // namespace lynxkv::engine
