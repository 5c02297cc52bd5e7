// Where the threads of a rank's team compute. Where the rank may use exactly as many cores as it has threads, each
// computing thread keeps to one of them. Left to itself, Linux put two threads of a team on one core for tens of
// milliseconds while the other idled: threads that wake for some microseconds many times a second (a rank's traffic)
// leave that core no idle span long enough for the scheduler to pull work to it.
// A user who sets OMP_PROC_BIND has placed the threads already; they are left where they are.
#pragma once

#include <array>
#include <span>

namespace lynxkv::kernels {

// The home thread's part, around a computation; the other threads of the team follow by themselves. On another
// thread: nothing. Threads that are started meanwhile would inherit the one core, so keep it to the computation.
class KeepToOneCore {
 public:
  KeepToOneCore() noexcept;
  ~KeepToOneCore();
  KeepToOneCore(const KeepToOneCore&) = delete;
  KeepToOneCore& operator=(const KeepToOneCore&) = delete;

 private:
  bool placed_ = false;
  std::array<unsigned long, 16> before_{};  // the mask, a bit for each core
};

// The cores of the team's threads, by thread number; empty where the threads are not placed.
std::span<const int> team_cores() noexcept;

}  // namespace lynxkv::kernels
