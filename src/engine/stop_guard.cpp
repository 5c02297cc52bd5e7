#include "engine/stop_guard.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "engine/signals.hpp"

namespace lynxkv::engine {
namespace {

constexpr std::int64_t unwatched_ns = 1'000'000'000;
constexpr auto look_every = std::chrono::milliseconds(100);
// The loop of the coordinator leaves first, in good order.
constexpr double guard_waits_longer_s = 4;

}  // namespace

StopPatience::StopPatience(double grace_s) noexcept : grace_s_(grace_s) {}

void StopPatience::stop(std::int64_t now) noexcept {
  if (stopping_) return;
  stopping_ = true;
  moved_ns_ = asked_ns_ = now;
}

void StopPatience::moved(std::int64_t now) noexcept { moved_ns_ = std::max(moved_ns_, now); }

void StopPatience::allow(double seconds, std::int64_t now) noexcept {
  grace_s_ = seconds;
  moved(now);
}

bool StopPatience::over(std::int64_t now, double more_s) noexcept {
  if (!stopping_) return false;
  if (const std::int64_t gap = now - asked_ns_; gap > unwatched_ns) moved_ns_ = std::min(moved_ns_ + gap, now);
  asked_ns_ = now;
  return now - moved_ns_ > std::llround((grace_s_ + more_s) * 1e9);
}

StopGuard::StopGuard(double grace_s, std::function<void()> leave)
    : tell_every_s_(grace_s / 4), leave_(std::move(leave)), patience_(grace_s), thread_([this] { watch(); }) {}

StopGuard::~StopGuard() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void StopGuard::stop() {
  const std::lock_guard lock(mutex_);
  patience_.stop(now_ns());
}

void StopGuard::moved() {
  const std::lock_guard lock(mutex_);
  patience_.moved(now_ns());
}

void StopGuard::allow(double seconds) {
  const std::lock_guard lock(mutex_);
  patience_.allow(seconds, now_ns());
}

bool StopGuard::stopping() const {
  const std::lock_guard lock(mutex_);
  return patience_.stopping();
}

bool StopGuard::over() {
  const std::lock_guard lock(mutex_);
  return patience_.over(now_ns());
}

bool StopGuard::time_to_tell() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ns();
  if (!patience_.stopping() || seconds_between(told_ns_, now) < tell_every_s_) return false;
  told_ns_ = now;
  return true;
}

void StopGuard::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, look_every, [&] { return ended_; })) {
    if (StopSignals::received() != 0) patience_.stop(now_ns());
    if (!patience_.over(now_ns(), guard_waits_longer_s)) continue;
    log::error("asked to stop, and nothing has moved for {:.0f} s: the job ends here; every sample that was reported done is "
               "kept, run the same command again to do what is missing", patience_.silent_s(now_ns()));
    // Whoever hangs may hold what an orderly abort needs.
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      std::_Exit(exit_code(ErrorCode::incomplete));
    }).detach();
    lock.unlock();
    leave_();
    return;
  }
}

}  // namespace lynxkv::engine
