// The receiving half of the progress loop: messages from the transport to the caller's inbox, and what the
// couriers say to each other.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "comm/progress_loop.hpp"

namespace lynxkv::comm {
namespace {

// Arrivals in one step, so that a flood does not keep this rank's own messages waiting.
constexpr int arrivals_a_step = 64;
constexpr std::int64_t hot_span_ns = 2'000'000;
constexpr std::int64_t silence_ns = 300'000'000;
constexpr std::int64_t napping_round_trip_ns = 500'000;

}  // namespace

int ProgressLoop::take_arrivals() {
  Message message;
  int taken = 0;
  while (taken < arrivals_a_step && transport_.poll(message)) {
    ++taken;
    now_ns_ = now_ns();
    watchdog_.moved(message.peer, now_ns_);
    if (message.channel == Channel::control) {
      take_control(std::move(message));
    } else {
      take_data(std::move(message));
    }
    message = Message{};
  }
  return taken;
}

void ProgressLoop::take_data(Message message) {
  Peer& sender = peer(message.peer);
  if (message.channel == Channel::anchor) anchor_moved(message.bytes.size());
  const auto opened = open_data(message.bytes);
  if (message.channel == Channel::residual) {
    residual_came_ns_ = now_ns_;
    // By number: what was lost in between counts as received, for the sender's credits must come back. Without a
    // number it is the next.
    const auto ahead = opened ? static_cast<std::int32_t>(opened.value().number - static_cast<std::uint32_t>(sender.residual_seen)) : 0;
    if (ahead >= 0) sender.residual_seen += static_cast<std::uint64_t>(ahead) + 1;
    message.number = sender.residual_seen;
  }
  if (!pacing_.active()) return deliver(std::move(message));
  if (opened && opened.value().departed_ns == 0 && pacing_.limits_rate())
    throw Error(ErrorCode::transport, fmt::format("rank {}", message.peer),
                "sends data without the emulated link's departure time: the ranks' link options differ");
  delay_emulated(std::move(message), opened ? opened.value().departed_ns : 0);
}

// `departed_ns` 0: not known.
void ProgressLoop::delay_emulated(Message message, std::int64_t departed_ns) {
  std::int64_t arrival_ns = now_ns_;
  if (departed_ns != 0) arrival_ns = peer(message.peer).transit.arrival_ns(departed_ns, now_ns_);
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
    peer(message.peer).residual_received = std::max(peer(message.peer).residual_received, message.number);
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
  Peer& sender = peer(message.peer);
  const auto number = open_control(message.bytes);
  if (!number) return log::warning("a control message of rank {} came damaged and counts as lost", message.peer);
  const CourierFrame frame = parse_courier_frame(message.bytes).take();
  if (frame.type != FrameType::user) return take_frame(message.peer, frame);
  if (number.value() != sender.control_received)
    throw Error(ErrorCode::transport, fmt::format("rank {}", message.peer),
                fmt::format("{} of its control messages were lost on the way; the job cannot go on, run the same command "
                            "again", static_cast<std::int32_t>(number.value() - sender.control_received)));
  ++sender.control_received;
  urgent_ns_ = now_ns_;
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
      sender.receipt_due |= sender.residual_received > 0;  // the last one may have been lost
      if (!sender.bye_sent) post_frame(from, FrameType::pong, frame.value, now_ns());
      return;
    case FrameType::pong: {
      const auto asked_ns = static_cast<std::int64_t>(frame.value);
      const std::int64_t answered_ns = now_ns();
      if (!sender.ping_flying) return;
      sender.ping_flying = false;
      // Before data flows both ends look all the time; later they nap. Without this measure the first one known might
      // be of a question that stood behind megabytes of data, and would allow as many again.
      credits_.round_trip(answered_ns - asked_ns + (sender.ping_counts ? napping_round_trip_ns : 0));
      if (!sender.ping_counts) return;
      const std::lock_guard lock(shared_.mutex);
      shared_.clocks[static_cast<std::size_t>(from)].sample(asked_ns, frame.time, answered_ns);
      if (--shared_.sync_left[static_cast<std::size_t>(from)] == 0) shared_.for_user.notify_all();
      return;
    }
    case FrameType::closing: return peer_closing(from, frame.value != 0);
    case FrameType::bye: sender.said_bye = true; return;
    case FrameType::alive: return;  // that it came is what counts
    case FrameType::posted:
      if (frame.value > sender.announced) sender.announced_ns = now_ns_;
      sender.announced = std::max(sender.announced, frame.value);
      return;
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

// Residuals that stay without a receipt for long: the last of them may be lost, which only a number tells.
void ProgressLoop::tell_posted() {
  if (credits_.in_flight_bytes() == 0 || now_ns_ - credits_.last_receipt_ns() < silence_ns) return;
  for (int to = 0; to < transport_.size(); ++to) {
    Peer& target = peer(to);
    if (target.closed || credits_.in_flight_bytes(to) == 0 || now_ns_ - target.posted_told_ns < silence_ns) continue;
    target.posted_told_ns = now_ns_;
    target.ping_flying = false;  // a ping or its answer may be lost, too
    post_frame(to, FrameType::posted, target.residual_posted);
  }
}

// What was announced so long ago and has not come counts as received. Should it come after all, it is as good as new.
void ProgressLoop::give_up_lost() {
  for (int from = 0; from < transport_.size(); ++from) {
    Peer& sender = peer(from);
    if (sender.announced <= sender.residual_received || now_ns_ - sender.announced_ns < silence_ns) continue;
    if (!arriving_.empty()) continue;  // an emulated link has it
    log::debug("{} residual messages of rank {} were lost", sender.announced - sender.residual_received, from);
    sender.residual_received = sender.announced;
    sender.residual_seen = std::max(sender.residual_seen, sender.announced);
    sender.receipt_due = true;
  }
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
