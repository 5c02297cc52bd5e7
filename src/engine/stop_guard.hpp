// How a run that was asked to stop ends: what runs is finished for as long as something moves. Where nothing moves any
// more (a link that loses everything, a rank that hangs) the run leaves after a grace, well before its scheduler kills it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lynxkv::engine {

// The rule alone; reads no clock. Times: base/clock.hpp.
class StopPatience {
 public:
  explicit StopPatience(double grace_s) noexcept;

  // The run was asked to stop; the first call counts.
  void stop(std::int64_t now) noexcept;
  // Something was done that brings the end nearer: a layer was computed, a page tensor came, a sample was finished.
  // That something was sent again does not count.
  void moved(std::int64_t now) noexcept;
  // From now on so much silence is allowed.
  void allow(double seconds, std::int64_t now) noexcept;
  bool stopping() const noexcept { return stopping_; }
  // Asked to stop, and nothing has moved for the grace and `more_s`. Call it at least every second: time in which
  // nobody asked is time in which this process was stopped as a whole, and proves nothing.
  bool over(std::int64_t now, double more_s = 0) noexcept;
  double silent_s(std::int64_t now) const noexcept { return static_cast<double>(now - moved_ns_) * 1e-9; }

 private:
  double grace_s_;
  bool stopping_ = false;
  std::int64_t moved_ns_ = 0, asked_ns_ = 0;
};

// The rule for this process, with a thread of its own for what the rank's loop cannot end itself: a set-up or an
// ending that waits for ranks which never come. Any thread may call.
class StopGuard {
 public:
  // `leave` ends the whole job at once with the exit code of an incomplete run; called from the guard's thread when
  // even the rank's loop did not leave in time.
  StopGuard(double grace_s, std::function<void()> leave);
  ~StopGuard();
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;

  void stop();
  void moved();
  void allow(double seconds);
  bool stopping() const;
  // The rank's loop should leave now.
  bool over();
  // How often ranks tell each other that something moves: often enough that none is taken for silent.
  double tell_every_s() const noexcept { return tell_every_s_; }
  // True at most once in tell_every_s, and only while the run stops.
  bool time_to_tell();

 private:
  void watch();

  double tell_every_s_;
  std::function<void()> leave_;
  mutable std::mutex mutex_;
  std::condition_variable ends_;
  StopPatience patience_;
  std::int64_t told_ns_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace lynxkv::engine
