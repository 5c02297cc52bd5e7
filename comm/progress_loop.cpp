#include "comm/progress_loop.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.hpp"

namespace lynxkv::comm {
namespace {

// Posted anchors that are not through yet. The rest stays in the queue, where an older request can still pass.
constexpr std::size_t anchor_window_bytes = std::size_t{1} << 20;
// Naps between tests. Waking up takes some tens of microseconds more, and the sum stays below 100.
constexpr std::int64_t short_nap_ns = 20'000;
constexpr std::int64_t long_nap_ns = 80'000;
// Of anchors without a pause, from which on it is their sum that takes the time, and short naps only take cores.
constexpr std::size_t long_run_bytes = std::size_t{256} << 10;
// While residuals alone move, every nap less leaves the cores to the computing: on a link of 1 Gbit/s naps of 80 us took
// a fifth of both cores of a host. Where more than one message comes during a nap the link needs a look more often.
// What comes behind residuals may be urgent; their receipts are not, and what is to be sent wakes this thread.
constexpr std::int64_t receiving_nap_ns = 160'000;
constexpr std::int64_t sending_nap_ns = 240'000;
// With nothing on the way and nothing owed for a while, a message may be seen a little later: the rank idles.
constexpr std::int64_t idle_nap_ns = 1'000'000;
constexpr std::int64_t idle_after_ns = 50'000'000;
constexpr std::uint64_t slice_ns = 100'000;
// Where the transport wakes this thread, only the watchdog needs it now and then.
constexpr std::int64_t woken_nap_ns = 20'000'000;
constexpr std::int64_t active_span_ns = 2'000'000;
constexpr std::int64_t probe_interval_ns = 50'000'000;
constexpr std::int64_t lost_ping_ns = 1'000'000'000;

// This thread works for microseconds at a time. A short slice lets it run soon after it wakes where the cores are
// busy computing. Needs no privilege; kernels before 6.12 take no notice.
void ask_for_short_slices() noexcept {
  struct {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != 0) return;
  attributes.size = sizeof attributes;
  attributes.runtime_ns = slice_ns;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

std::size_t good_parcel_bytes(std::size_t chunk_bytes, std::size_t max_message_bytes) noexcept {
  // A quarter of a chunk, less a little: at 256 KiB the whole message then stays below the 64 KiB from which
  // Open MPI's TCP path asks the receiver first, which would cost a round trip between two sleeping threads.
  const std::size_t chunk = std::max<std::size_t>(chunk_bytes, 4096);
  return std::min(chunk / 4 - chunk / 256, max_message_bytes);
}

ProgressLoop::ProgressLoop(Transport& transport, const LinkOptions& options, Shared& shared)
    : transport_(transport),
      options_(options),
      shared_(shared),
      pacing_(options.gbps, options.latency_us),
      credits_(transport.size(), options.residual_chunk_bytes, pacing_.bytes_per_second(), pacing_.latency_ns()),
      watchdog_(options.stall_seconds, transport.size(), now_ns()),
      peers_(static_cast<std::size_t>(transport.size())) {
  share_state();
  transport.use_buffers(&shared.buffers);
  wakes_ = transport.on_arrival([&shared = shared_] {
    const std::lock_guard lock(shared.mutex);
    shared.wake = true;
    shared.for_progress.notify_all();
  });
}

// Bytes that were posted and are not through belong to the transport, which may read them for as long as it lives:
// a rank that leaves in a hurry leaves them to it.
ProgressLoop::~ProgressLoop() {
  transport_.on_arrival(nullptr);
  transport_.use_buffers(nullptr);
  static std::mutex mutex;
  static auto* left_behind = new std::vector<Posted>;
  const std::lock_guard lock(mutex);
  for (Posted& posted : posted_) left_behind->push_back(std::move(posted));
}

void ProgressLoop::run() noexcept {
  // The default slack of 50 us would double every nap.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  ask_for_short_slices();
  try {
    while (!may_leave())
      if (!step()) sleep();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(Error(ErrorCode::transport, "progress thread of rank " + std::to_string(transport_.rank()), error.what()));
  }
  const std::lock_guard lock(shared_.mutex);
  shared_.left = true;
  shared_.for_sentinel.notify_all();
}

void ProgressLoop::fail(Error error) {
  const std::lock_guard lock(shared_.mutex);
  if (!shared_.failure) shared_.failure = std::move(error);
  shared_.for_user.notify_all();
}

bool ProgressLoop::step() {
  now_ns_ = now_ns();
  shared_.beat_ns = now_ns_;
  const int taken = take_arrivals();
  arrivals_ += taken;
  bool moved = taken > 0;
  moved |= deliver_due();
  moved |= send_receipts();
  moved |= finish_posted();
  moved |= post_departed();
  moved |= post_waiting();
  send_pings();
  tell_posted();
  give_up_lost();
  say_alive();
  answer_closed_peers();
  share_state();
  watch();
  if (moved) active_ns_ = now_ns_;
  return moved;
}

void ProgressLoop::anchor_moved(std::size_t bytes) noexcept {
  if (now_ns_ - urgent_ns_ > active_span_ns) anchor_run_bytes_ = 0;
  anchor_run_bytes_ += bytes;
  urgent_ns_ = now_ns_;
}

// By what came since the last nap.
void ProgressLoop::adapt_nap() noexcept {
  std::int64_t most_ns = long_nap_ns;
  if (now_ns_ - residual_came_ns_ < active_span_ns) most_ns = receiving_nap_ns;
  else if (now_ns_ - residual_left_ns_ < active_span_ns) most_ns = sending_nap_ns;
  if (arrivals_ > 1) nap_ns_ /= 2;
  else if (arrivals_ == 0) nap_ns_ = nap_ns_ * 5 / 4;
  nap_ns_ = std::clamp(nap_ns_, long_nap_ns, most_ns);
  arrivals_ = 0;
}

void ProgressLoop::sleep() {
  if (now_ns_ < hot_until_ns_) {
    std::this_thread::yield();
    return;
  }
  adapt_nap();
  const bool urgent = now_ns_ - urgent_ns_ < active_span_ns || posted_anchor_bytes_ > 0;
  std::int64_t nap_ns = !urgent ? nap_ns_ : anchor_run_bytes_ < long_run_bytes ? short_nap_ns : long_nap_ns;
  if (now_ns_ - active_ns_ > idle_after_ns && !owed_ && credits_.in_flight_bytes() == 0) nap_ns = idle_nap_ns;
  if (wakes_ && posted_.empty()) nap_ns = woken_nap_ns;
  const std::int64_t now = now_ns();
  if (!departing_.empty()) nap_ns = std::min(nap_ns, departing_.front().depart_ns - now);
  if (!arriving_.empty()) nap_ns = std::min(nap_ns, arriving_.front().due_ns - now);
  if (nap_ns <= 0) return;
  std::unique_lock lock(shared_.mutex);
  shared_.for_progress.wait_for(lock, std::chrono::nanoseconds(nap_ns), [&] { return shared_.wake; });
  shared_.wake = false;
}

void ProgressLoop::post(Channel channel, int to, std::vector<std::byte> bytes, std::int64_t departed_ns) {
  if (channel == Channel::control) seal_control(bytes, peer(to).control_sent++);
  else seal_data(bytes, {departed_ns, channel == Channel::residual ? static_cast<std::uint32_t>(peer(to).residual_posted++) : 0});
  post_sealed(channel, to, std::move(bytes));
}

void ProgressLoop::post_sealed(Channel channel, int to, std::vector<std::byte> bytes, bool counts) {
  Posted posted{0, channel, to, std::move(bytes), counts};
  posted.ticket = transport_.post(channel, to, posted.bytes);
  Peer& target = peer(to);
  ++target.posted;
  ++target.sequence[static_cast<int>(channel)];
  if (channel == Channel::anchor) posted_anchor_bytes_ += posted.bytes.size();
  if (counts) watchdog_.moved(to, now_ns_);
  posted_.push_back(std::move(posted));
}

void ProgressLoop::post_frame(int to, FrameType type, std::uint64_t value, std::int64_t time) {
  auto bytes = to_bytes({type, value, time});
  seal_control(bytes, 0);
  post_sealed(Channel::control, to, std::move(bytes), type != FrameType::ping && type != FrameType::posted);
}

bool ProgressLoop::finish_posted() {
  const auto through = [&](Posted& posted) {
    if (!transport_.test(posted.ticket)) return false;
    --peer(posted.peer).posted;
    if (posted.channel == Channel::anchor) posted_anchor_bytes_ -= posted.bytes.size();
    if (posted.counts) watchdog_.moved(posted.peer, now_ns_);
    shared_.buffers.give(std::move(posted.bytes));
    return true;
  };
  return std::erase_if(posted_, through) > 0;
}

bool ProgressLoop::post_waiting() {
  bool moved = false;
  std::vector<Parcel> control;
  {
    const std::lock_guard lock(shared_.mutex);
    while (auto entry = shared_.queue.pop_control()) {
      ChannelTotals& totals = shared_.totals[static_cast<int>(Channel::control)];
      totals.sent_bytes += entry->parcel.bytes.size() - 1;
      ++totals.sent_messages;
      control.push_back(std::move(entry->parcel));
    }
    if (!control.empty()) shared_.unfinished = shared_.wire_moved = true;
  }
  if (!control.empty()) urgent_ns_ = now_ns_;
  for (Parcel& parcel : control) {
    post(Channel::control, parcel.peer, std::move(parcel.bytes));
    moved = true;
  }
  while (!pacing_.limits_rate() || pacing_.send_free_ns() <= now_ns_) {
    auto entry = next_data();
    if (!entry) break;
    moved = true;
    const std::size_t bytes = entry->parcel.bytes.size();
    const int to = entry->parcel.peer;
    const bool residual = entry->parcel.channel == Channel::residual;
    if (!residual) anchor_moved(bytes);
    std::int64_t left_ns = now_ns_;
    if (pacing_.limits_rate()) {
      // This thread may look a moment after the wire became free; a real wire would not have waited for it.
      std::int64_t ready_ns = entry->queued_ns;
      if (residual && credit_blocked_) ready_ns = std::max(ready_ns, credits_.last_receipt_ns());
      left_ns = pacing_.departure(ready_ns, bytes);
    }
    if (residual) {
      credits_.sent(to, bytes, left_ns);
      residual_left_ns_ = now_ns_;
    }
    if (!pacing_.limits_rate()) {
      post(entry->parcel.channel, to, std::move(entry->parcel.bytes));
      continue;
    }
    departing_.push_back({std::move(*entry), left_ns});
    post_departed();
  }
  if (moved) shared_.for_user.notify_all();
  return moved;
}

std::optional<SendQueue::Entry> ProgressLoop::next_data() {
  SendQueue::Room room;
  room.anchor = posted_anchor_bytes_ < anchor_window_bytes;
  room.anchor_flying = posted_anchor_bytes_ > 0;
  bool refused = false;
  room.residual = [&](std::size_t bytes) {
    const bool fits = credits_.fits(bytes);
    refused |= !fits;
    return fits;
  };
  const std::lock_guard lock(shared_.mutex);
  auto entry = shared_.queue.pop_data(room);
  if (!entry) {
    credit_blocked_ = refused;
    return entry;
  }
  ChannelTotals& totals = shared_.totals[static_cast<int>(entry->parcel.channel)];
  totals.sent_bytes += entry->parcel.bytes.size();
  ++totals.sent_messages;
  shared_.unfinished = shared_.wire_moved = true;
  return entry;
}

bool ProgressLoop::post_departed() {
  bool moved = false;
  while (!departing_.empty() && departing_.front().depart_ns <= now_ns_) {
    Parcel& parcel = departing_.front().entry.parcel;
    if (!peer(parcel.peer).closed)
      post(parcel.channel, parcel.peer, std::move(parcel.bytes), departing_.front().depart_ns);
    departing_.pop_front();
    moved = true;
  }
  return moved;
}

void ProgressLoop::send_pings() {
  std::vector<int> wanted;
  {
    const std::lock_guard lock(shared_.mutex);
    const auto& left = shared_.sync_left;
    if (std::any_of(left.begin(), left.end(), [](int rounds) { return rounds > 0; })) wanted = left;
  }
  if (wanted.empty() && credits_.in_flight_bytes() == 0) return;
  for (int to = 0; to < transport_.size(); ++to) {
    Peer& target = peer(to);
    const bool waits = target.ping_flying && now_ns_ - target.probed_ns < lost_ping_ns;
    if (waits || target.closed) continue;
    const bool counts = !wanted.empty() && wanted[static_cast<std::size_t>(to)] > 0;
    const bool probe = credits_.in_flight_bytes(to) > 0 && now_ns_ - target.probed_ns > probe_interval_ns;
    if (!counts && !probe) continue;
    target.ping_flying = true;
    target.ping_counts = counts;
    target.probed_ns = now_ns_;
    if (counts) hot_until_ns_ = now_ns_ + active_span_ns;
    post_frame(to, FrameType::ping, static_cast<std::uint64_t>(now_ns()), counts ? 1 : 0);
  }
}

// A rank that computes for longer than the peers' patience still moves: they hear of it now and then.
void ProgressLoop::say_alive() {
  const auto interval_ns = static_cast<std::int64_t>(std::min(1.0, options_.stall_seconds / 8) * 1e9);
  if (now_ns_ - alive_ns_ < interval_ns || closing_ == Closing::leaving) return;
  alive_ns_ = now_ns_;
  std::int64_t progress_ns = 0;
  {
    const std::lock_guard lock(shared_.mutex);
    progress_ns = shared_.progress_ns;
  }
  if (progress_ns == told_progress_ns_) return;
  told_progress_ns_ = progress_ns;
  for (int to = 0; to < transport_.size(); ++to)
    if (to != transport_.rank() && !peer(to).closed) post_frame(to, FrameType::alive);
}

void ProgressLoop::share_state() {
  const bool unfinished = !posted_.empty() || !departing_.empty() || credits_.in_flight_bytes() > 0;
  const std::size_t chunk = credits_.chunk_bytes();
  const std::lock_guard lock(shared_.mutex);
  owed_ = unfinished || shared_.expecting || shared_.closing || !shared_.queue.empty();
  shared_.link_bytes_per_second = credits_.rate();
  if (chunk != shared_.residual_chunk_bytes) {
    shared_.residual_chunk_bytes = chunk;
    shared_.good_parcel_bytes = good_parcel_bytes(chunk, transport_.max_message_bytes() - parcel_room_bytes);
    shared_.queue.join_up_to(shared_.good_parcel_bytes);
  }
  if (shared_.unfinished && !unfinished && shared_.queue.empty()) shared_.for_user.notify_all();
  shared_.unfinished = unfinished;
}

}  // namespace lynxkv::comm
