#include "comm/send_queue.hpp"

#include <iterator>
#include <algorithm>
#include <utility>

namespace lynxkv::comm {

void SendQueue::push(Parcel parcel, std::int64_t now_ns) {
  waiting_bytes_[static_cast<int>(parcel.channel)] += parcel.bytes.size();
  if (parcel.channel == Channel::control) {
    control_.push_back({std::move(parcel), now_ns});
    return;
  }
  const bool residual = parcel.channel == Channel::residual;
  const bool urgent = !residual || hurried_.count(parcel.request) != 0;
  if (!residual) ++urgent_anchors_;
  const Key key{parcel.request, residual, order_++};
  (urgent ? urgent_ : bulk_).emplace(key, Entry{std::move(parcel), now_ns});
}

void SendQueue::hurry(std::uint64_t request) {
  if (strict_ || !hurried_.insert(request).second) return;
  auto it = bulk_.lower_bound(Key{request, false, 0});
  while (it != bulk_.end() && it->first.request == request) {
    const auto next = std::next(it);
    urgent_.insert(bulk_.extract(it));
    it = next;
  }
}

void SendQueue::forget(std::uint64_t request) {
  hurried_.erase(request);
  holders_.erase(request);
  forget_in(urgent_, request);
  forget_in(bulk_, request);
}

void SendQueue::forget_in(Ordered& from, std::uint64_t request) {
  auto it = from.lower_bound(Key{request, false, 0});
  while (it != from.end() && it->first.request == request) {
    gone(it->second.parcel);
    it = from.erase(it);
  }
}

std::size_t SendQueue::drop_peer(int peer) {
  const std::size_t before = size();
  for (auto it = control_.begin(); it != control_.end();) {
    const bool drop = it->parcel.peer == peer;
    if (drop) gone(it->parcel);
    it = drop ? control_.erase(it) : std::next(it);
  }
  for (Ordered* from : {&urgent_, &bulk_}) {
    for (auto it = from->begin(); it != from->end();) {
      const bool drop = it->second.parcel.peer == peer;
      if (drop) gone(it->second.parcel);
      it = drop ? from->erase(it) : std::next(it);
    }
  }
  return before - size();
}

std::optional<SendQueue::Entry> SendQueue::pop_control() {
  if (control_.empty()) return std::nullopt;
  Entry entry = std::move(control_.front());
  control_.pop_front();
  gone(entry.parcel);
  return entry;
}

std::optional<SendQueue::Entry> SendQueue::pop_data(const Room& room) {
  bool refused = false;
  for (auto it = urgent_.begin(); it != urgent_.end(); ++it) {
    if (it->second.parcel.channel == Channel::anchor) {
      if (!room.anchor) return std::nullopt;
      return take(urgent_, it, room);
    }
    // A residual without credit lets the anchors behind it pass: they do not share its credits. A smaller residual
    // does not pass: the receiver would take what it overtook for lost.
    if (!refused && room.residual(it->second.parcel.bytes.size())) return take(urgent_, it, room);
    refused = true;
  }
  if (urgent_anchors_ > 0 || room.anchor_flying || !holders_.empty() || bulk_.empty()) return std::nullopt;
  if (!room.residual(bulk_.begin()->second.parcel.bytes.size())) return std::nullopt;
  return take(bulk_, bulk_.begin(), room);
}

// The parcel at `first`, with those right behind it that may share its message.
SendQueue::Entry SendQueue::take(Ordered& from, Ordered::iterator first, const Room& room) {
  Entry entry = std::move(first->second);
  Parcel& message = entry.parcel;
  gone(message);
  auto it = from.erase(first);
  while (message.joinable && it != from.end()) {
    Parcel& next = it->second.parcel;
    const std::size_t together = message.bytes.size() + next.bytes.size();
    if (!next.joinable || next.peer != message.peer || next.channel != message.channel) break;
    if (together > join_bytes_ || (next.channel == Channel::residual && !room.residual(together))) break;
    gone(next);
    message.bytes.insert(message.bytes.end(), next.bytes.begin(), next.bytes.end());
    entry.queued_ns = std::max(entry.queued_ns, it->second.queued_ns);
    it = from.erase(it);
  }
  return entry;
}

void SendQueue::gone(const Parcel& parcel) noexcept {
  waiting_bytes_[static_cast<int>(parcel.channel)] -= parcel.bytes.size();
  if (parcel.channel == Channel::anchor) --urgent_anchors_;
}

}  // namespace lynxkv::comm
