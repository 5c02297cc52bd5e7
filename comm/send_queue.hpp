// SendQueue: what waits for the wire, in the order in which it may leave. No thread, no clock of its own.
//   control   leaves first, in order of arrival.
//   urgent    anchors, and residuals that a decoder waits for; the smallest request first, of one request the
//             anchors first.
//   bulk      the other residuals; none leaves while an anchor waits or is on the wire, or more anchors are announced.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "comm/courier.hpp"

namespace lynxkv::comm {

class SendQueue {
 public:
  // Parcels that may be joined are joined up to `join_bytes` a message. `strict`: hurry() changes nothing.
  SendQueue(bool strict, std::size_t join_bytes) : strict_(strict), join_bytes_(join_bytes) {}

  struct Entry {
    Parcel parcel;
    std::int64_t queued_ns = 0;  // of the youngest parcel in it
  };
  // What the wire can take now.
  struct Room {
    bool anchor = true;         // another anchor may be posted
    bool anchor_flying = false;  // posted anchors are not through yet
    std::function<bool(std::size_t bytes)> residual;  // credits allow that many more bytes
  };

  void join_up_to(std::size_t join_bytes) noexcept { join_bytes_ = join_bytes; }
  void push(Parcel parcel, std::int64_t now_ns);
  void hurry(std::uint64_t request);
  // More anchors of `request` are about to be pushed: bulk stays, until release_bulk() or forget() of it.
  void hold_bulk(std::uint64_t request) { holders_.insert(request); }
  void release_bulk(std::uint64_t request) { holders_.erase(request); }
  // Drops data parcels; control messages about the request still go.
  void forget(std::uint64_t request);
  // Drops everything for a rank that has closed. Returns how many parcels that was.
  std::size_t drop_peer(int peer);

  std::optional<Entry> pop_control();
  std::optional<Entry> pop_data(const Room& room);

  bool empty() const noexcept { return control_.empty() && urgent_.empty() && bulk_.empty(); }
  std::size_t size() const noexcept { return control_.size() + urgent_.size() + bulk_.size(); }
  // Whether that new parcel might leave at once: nothing of its kind or of a higher one waits already.
  bool leads(const Parcel& parcel) const noexcept {
    if (parcel.channel == Channel::control) return true;
    if (parcel.channel == Channel::anchor || hurried_.count(parcel.request) != 0) return urgent_anchors_ == 0;
    return urgent_anchors_ == 0 && bulk_.empty() && holders_.empty();
  }
  std::size_t waiting_bytes(Channel channel) const noexcept { return waiting_bytes_[static_cast<int>(channel)]; }

 private:
  struct Key {
    std::uint64_t request;
    bool residual;
    std::uint64_t order;
    auto operator<=>(const Key&) const = default;
  };
  using Ordered = std::map<Key, Entry>;

  Entry take(Ordered& from, Ordered::iterator first, const Room& room);
  void forget_in(Ordered& from, std::uint64_t request);
  void gone(const Parcel& parcel) noexcept;

  bool strict_;
  std::size_t join_bytes_;
  std::uint64_t order_ = 0;
  std::deque<Entry> control_;
  Ordered urgent_;
  Ordered bulk_;
  std::size_t urgent_anchors_ = 0;
  std::set<std::uint64_t> hurried_;
  std::set<std::uint64_t> holders_;
  std::size_t waiting_bytes_[channel_count] = {};
};

}  // namespace lynxkv::comm
