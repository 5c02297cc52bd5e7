#include "engine/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"

namespace lynxkv::engine {
namespace {

std::string duration(double seconds) {
  const auto s = static_cast<long>(std::max(0.0, seconds) + 0.5);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60) : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

std::string progress_text(std::int64_t done, std::int64_t before, std::int64_t total, std::int64_t tokens,
                          double elapsed_s, double time_left_s) {
  std::string text = fmt::format("{}/{} rows", done, total);
  if (elapsed_s > 0) text += fmt::format(", {:.1f} tokens/s", static_cast<double>(tokens) / elapsed_s);
  if (done > before && done < total)
    text += ", ETA " + duration(elapsed_s * static_cast<double>(total - done) / static_cast<double>(done - before));
  if (time_left_s >= 0) text += ", time left " + duration(time_left_s);
  return text;
}

ProgressLine::ProgressLine(double seconds_between_lines)
    : terminal_(isatty(STDERR_FILENO) != 0), interval_s_(seconds_between_lines), started_ns_(now_ns()), shown_ns_(started_ns_) {}

void ProgressLine::show(std::int64_t done, std::int64_t before, std::int64_t total, std::int64_t tokens, double time_left_s) {
  const std::int64_t now = now_ns();
  const double wait_s = terminal_ ? 0.2 : interval_s_;
  const bool news = terminal_ ? done != shown_done_ : done == total && done != shown_done_;
  if (seconds_between(shown_ns_, now) < wait_s && !news) return;
  shown_ns_ = now;
  shown_done_ = done;
  const std::string text = progress_text(done, before, total, tokens, seconds_between(started_ns_, now), time_left_s);
  if (!terminal_) {
    std::fprintf(stderr, "lynxkv: %s\n", text.c_str());
    return;
  }
  constexpr int width = 30;
  const int filled = total > 0 ? static_cast<int>(width * done / total) : width;
  std::fprintf(stderr, "\r[%s%s] %s\033[K", std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(width - filled), '.').c_str(), text.c_str());
}

void ProgressLine::finish() {
  if (terminal_ && shown_done_ >= 0) std::fprintf(stderr, "\n");
}

}  // namespace lynxkv::engine
