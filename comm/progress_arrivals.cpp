// The receiving half of the progress loop: messages from the transport to the caller's inbox, and what the
// couriers say to each other.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "comm/progress_loop.hpp"

namespace lynxkv::comm {
namespace {

// Arrivals in one step, so that a flood does not keep this rank's own messages waiting.
constexpr int arrivals_a_step = 64;
constexpr std::int64_t hot_span_ns = 2'000'000;

}  // namespace

bool ProgressLoop::take_arrivals() {
  Message message;
  int taken = 0;
  while (taken < arrivals_a_step && transport_.poll(message)) {
    ++taken;
    now_ns_ = now_ns();
    watchdog_.moved(message.peer, now_ns_);
    if (message.channel == Channel::control) {
      take_control(std::move(message));
    } else if (pacing_.active()) {
      delay_emulated(std::move(message));
    } else {
      deliver(std::move(message));
    }
    message = Message{};
  }
  return taken > 0;
}

void ProgressLoop::delay_emulated(Message message) {
  std::int64_t arrival_ns = now_ns_;
  if (pacing_.limits_rate()) {
    std::int64_t departed_ns = 0;
    if (message.bytes.size() < sizeof departed_ns)
      throw Error(ErrorCode::transport, fmt::format("rank {}", message.peer),
                  "sends data without the emulated link's departure time: the ranks' link options differ");
    const std::size_t bytes = message.bytes.size() - sizeof departed_ns;
    std::memcpy(&departed_ns, message.bytes.data() + bytes, sizeof departed_ns);
    message.bytes.resize(bytes);
    arrival_ns = peer(message.peer).transit.arrival_ns(departed_ns, now_ns_);
  }
  const std::int64_t due_ns = pacing_.delivery(arrival_ns, message.bytes.size());
  arriving_.push_back({std::move(message), due_ns});
}

bool ProgressLoop::deliver_due() {
  bool moved = false;
  while (!arriving_.empty() && arriving_.front().due_ns <= now_ns_) {
    deliver(std::move(arriving_.front().message));
    arriving_.pop_front();
    moved = true;
  }
  return moved;
}

void ProgressLoop::deliver(Message message) {
  message.arrived_ns = now_ns_;
  if (message.channel == Channel::residual) {
    ++peer(message.peer).residual_received;
    peer(message.peer).receipt_due = true;
  }
  watchdog_.moved(message.peer, now_ns_);
  const std::lock_guard lock(shared_.mutex);
  ChannelTotals& totals = shared_.totals[static_cast<int>(message.channel)];
  totals.received_bytes += message.bytes.size();
  ++totals.received_messages;
  shared_.inbox.push_back(std::move(message));
  shared_.for_user.notify_all();
}

void ProgressLoop::take_control(Message message) {
  const CourierFrame frame = parse_courier_frame(message.bytes).take();
  if (frame.type != FrameType::user) return take_frame(message.peer, frame);
  message.bytes.erase(message.bytes.begin());
  deliver(std::move(message));
}

void ProgressLoop::take_frame(int from, const CourierFrame& frame) {
  Peer& sender = peer(from);
  switch (frame.type) {
    case FrameType::user: return;
    case FrameType::receipt:
      if (!sender.closed) credits_.acknowledged(from, frame.value, now_ns_).take();
      return;
    case FrameType::ping:
      if (frame.time != 0) hot_until_ns_ = now_ns_ + hot_span_ns;
      if (!sender.bye_sent) post_frame(from, FrameType::pong, frame.value, now_ns());
      return;
    case FrameType::pong: {
      const auto asked_ns = static_cast<std::int64_t>(frame.value);
      const std::int64_t answered_ns = now_ns();
      if (!sender.ping_flying) return;
      sender.ping_flying = false;
      if (!sender.ping_counts) return credits_.round_trip(answered_ns - asked_ns);
      const std::lock_guard lock(shared_.mutex);
      shared_.clocks[static_cast<std::size_t>(from)].sample(asked_ns, frame.time, answered_ns);
      if (--shared_.sync_left[static_cast<std::size_t>(from)] == 0) shared_.for_user.notify_all();
      return;
    }
    case FrameType::closing: return peer_closing(from, frame.value != 0);
    case FrameType::bye: sender.said_bye = true; return;
    case FrameType::alive: return;  // that it came is what counts
    case FrameType::report: {
      std::string phase;
      {
        const std::lock_guard lock(shared_.mutex);
        phase = shared_.phase;
      }
      log::error("rank {} reports a stall and ends the job; the state of this rank:", from);
      return log_state(phase);
    }
  }
}

void ProgressLoop::peer_closing(int from, bool failed) {
  Peer& sender = peer(from);
  sender.closed = true;
  credits_.drop_peer(from);
  std::size_t dropped = 0;
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.closed[static_cast<std::size_t>(from)] = true;
    dropped = shared_.queue.drop_peer(from);
    shared_.sync_left[static_cast<std::size_t>(from)] = 0;
    shared_.for_user.notify_all();
  }
  if (dropped > 0) log::debug("rank {} has closed; {} parcels for it are dropped", from, dropped);
  if (failed)
    fail(Error(ErrorCode::transport, fmt::format("rank {}", from),
               "has left the job because of an error of its own (see its message); run the same command again "
               "once that is mended, nothing finished is lost"));
}

bool ProgressLoop::send_receipts() {
  bool sent = false;
  for (int to = 0; to < transport_.size(); ++to) {
    Peer& target = peer(to);
    if (!target.receipt_due || target.bye_sent) continue;
    target.receipt_due = false;
    post_frame(to, FrameType::receipt, target.residual_received);
    sent = true;
  }
  return sent;
}

}  // namespace lynxkv::comm
