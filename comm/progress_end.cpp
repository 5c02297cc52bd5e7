// How the progress loop ends: in order with its peers, or by the watchdog.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/progress_loop.hpp"

namespace lynxkv::comm {
namespace {

constexpr double seconds_of_a_hurried_leave = 1;
constexpr std::int64_t report_span_ns = 200'000'000;

constexpr const char* name_of(int channel) {
  return channel == 0 ? "control" : channel == 1 ? "anchor" : "residual";
}

}  // namespace

// Closing: first everything that was sent reaches its receiver; then the peers hear of it; then this rank stays,
// reading and answering, until each peer has said that nothing more comes.
bool ProgressLoop::may_leave() {
  bool drained = false;
  bool failing = false, hurried = false;
  {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.closing) return false;
    failing = shared_.failing || shared_.failure.has_value();
    hurried = failing || shared_.abandoned;
    drained = shared_.abandoned ? shared_.queue.waiting_bytes(Channel::control) == 0
                                : shared_.queue.empty() && !shared_.unfinished;
  }
  if (closing_ == Closing::no) closing_ = Closing::draining;
  if (closing_ == Closing::draining) {
    if (!drained && !failing) return false;
    closing_ = Closing::leaving;
    leave_at_ns_ =
        now_ns() + static_cast<std::int64_t>((hurried ? seconds_of_a_hurried_leave : options_.close_seconds) * 1e9);
    say_closing(failing);
  }
  if (now_ns() > leave_at_ns_) return true;
  const bool all_gone = std::all_of(peers_.begin(), peers_.end(), [&](const Peer& other) {
    return &other == &peer(transport_.rank()) || other.closed || other.said_bye;
  });
  return posted_.empty() && (failing || all_gone);
}

void ProgressLoop::say_closing(bool failed) {
  now_ns_ = now_ns();
  for (int to = 0; to < transport_.size(); ++to)
    if (to != transport_.rank() && !peer(to).closed) post_frame(to, FrameType::closing, failed ? 1 : 0);
}

void ProgressLoop::answer_closed_peers() {
  for (int to = 0; to < transport_.size(); ++to) {
    Peer& target = peer(to);
    if (!target.closed || target.bye_sent || target.posted > 0) continue;
    target.bye_sent = true;
    post_frame(to, FrameType::bye);
  }
}

void ProgressLoop::watch() {
  constexpr std::int64_t interval_ns = 50'000'000;
  if (now_ns_ - watched_ns_ < interval_ns) return;
  watched_ns_ = now_ns_;
  bool outstanding = false;
  {
    const std::lock_guard lock(shared_.mutex);
    watchdog_.stepped(shared_.stepped_ns);
    outstanding = !shared_.queue.empty() || shared_.unfinished || (shared_.expecting && !shared_.closing);
  }
  if (closing_ == Closing::leaving) return;  // has a deadline of its own
  if (const auto who = watchdog_.stalled(now_ns_, outstanding, [&](int rank) { return flying_to(rank); }))
    report_stall(*who);
}

void ProgressLoop::report_stall(int with) {
  std::string phase;
  {
    const std::lock_guard lock(shared_.mutex);
    phase = shared_.phase;
  }
  if (with == Watchdog::everyone)
    log::error("stalled: nothing has moved for {:.1f} s in phase '{}' and something is waited for; the job ends",
               watchdog_.seconds_since_any(now_ns_), phase);
  else
    log::error("stalled: nothing has moved with rank {} for {:.1f} s in phase '{}'; the job ends", with,
               watchdog_.seconds_since(with, now_ns_), phase);
  log_state(phase);
  // The others say what they wait for before everything ends; those that cannot are the suspects.
  for (int to = 0; to < transport_.size(); ++to)
    if (to != transport_.rank() && !peer(to).closed) post_frame(to, FrameType::report);
  for (const std::int64_t until = now_ns() + report_span_ns; now_ns() < until;) {
    finish_posted();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  transport_.abort(exit_code(ErrorCode::transport));
}

void watch_progress_thread(Shared& shared, Transport& transport, double stall_seconds) {
  const auto look_every = std::chrono::duration<double>(std::min(1.0, stall_seconds / 4));
  std::int64_t looked_ns = now_ns();
  std::unique_lock lock(shared.mutex);
  while (!shared.for_sentinel.wait_for(lock, look_every, [&] { return shared.left; })) {
    const std::int64_t before_ns = looked_ns;
    looked_ns = now_ns();
    // A process that was stopped as a whole has nothing to blame on the transport.
    const bool was_stopped = seconds_between(before_ns, looked_ns) > 2 * look_every.count() + 1;
    const std::int64_t beat_ns = shared.beat_ns;
    if (was_stopped || beat_ns == 0 || seconds_between(beat_ns, looked_ns) < stall_seconds) continue;
    log::error("stalled: transport {} has not returned for {:.1f} s in phase '{}'; the job ends", transport.name(),
               seconds_between(beat_ns, looked_ns), shared.phase);
    // Whoever is stuck in there may hold what abort needs.
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      std::_Exit(exit_code(ErrorCode::transport));
    }).detach();
    transport.abort(exit_code(ErrorCode::transport));
  }
}

void ProgressLoop::log_state(const std::string& phase) const {
  log::error("state: rank {} of {}, transport {}, phase '{}'", transport_.rank(), transport_.size(),
             transport_.name(), phase);
  {
    const std::lock_guard lock(shared_.mutex);
    log::error("state: waiting to be posted: {} parcels (control {} B, anchor {} B, residual {} B); received and "
               "not taken: {} messages{}",
               shared_.queue.size(), shared_.queue.waiting_bytes(Channel::control),
               shared_.queue.waiting_bytes(Channel::anchor), shared_.queue.waiting_bytes(Channel::residual),
               shared_.inbox.size(), shared_.expecting ? "; messages are owed to this rank" : "");
  }
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const Peer& other = peer(rank);
    log::error("state: rank {}: last movement {:.1f} s ago, residual unacknowledged {} B{}", rank,
               watchdog_.seconds_since(rank, now_ns_), credits_.in_flight_bytes(rank),
               other.closed ? ", has closed" : "");
    for (int channel = 0; channel < channel_count; ++channel) {
      const auto flying = std::count_if(posted_.begin(), posted_.end(), [&](const Posted& posted) {
        return posted.peer == rank && static_cast<int>(posted.channel) == channel;
      });
      if (flying > 0)
        log::error("state: rank {}, channel {}: {} messages posted and not through, the last is number {}", rank,
                   name_of(channel), flying, other.sequence[channel]);
    }
  }
}

}  // namespace lynxkv::comm
