// Watchdog: tells a stalled job from a slow one. It follows movement, not age: bytes to or from a peer, and the
// steps that a rank reports. No clock is read here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lynxkv::comm {

class Watchdog {
 public:
  static constexpr int everyone = -1;

  Watchdog(double stall_seconds, int peers, std::int64_t now_ns)
      : limit_ns_(std::llround(stall_seconds * 1e9)),
        moved_ns_(static_cast<std::size_t>(peers), now_ns),
        any_ns_(now_ns),
        checked_ns_(now_ns) {}

  // Bytes were posted to the peer, taken by it, acknowledged by it or came from it.
  void moved(int peer, std::int64_t now_ns) noexcept {
    moved_ns_[static_cast<std::size_t>(peer)] = now_ns;
    any_ns_ = now_ns;
  }
  // The rank did something else that counts: a step of computing, a new parcel.
  void stepped(std::int64_t now_ns) noexcept { any_ns_ = std::max(any_ns_, now_ns); }

  // `flying(peer)`: something posted to the peer is not through yet. `outstanding`: anything at all is waited for.
  // The peer with which nothing moves, or `everyone`, or nothing while all is well.
  template <class Flying>
  std::optional<int> stalled(std::int64_t now_ns, bool outstanding, Flying flying) noexcept {
    // Time in which this process itself was stopped proves nothing about its peers.
    if (const std::int64_t gap = now_ns - checked_ns_; gap > std::min<std::int64_t>(limit_ns_ / 2, 1'000'000'000)) {
      for (std::int64_t& moved : moved_ns_) moved = std::min(moved + gap, now_ns);  // some have moved since
      any_ns_ = std::min(any_ns_ + gap, now_ns);
    }
    checked_ns_ = now_ns;
    for (std::size_t peer = 0; peer < moved_ns_.size(); ++peer)
      if (now_ns - moved_ns_[peer] > limit_ns_ && flying(static_cast<int>(peer))) return static_cast<int>(peer);
    if (outstanding && now_ns - any_ns_ > limit_ns_) return everyone;
    return std::nullopt;
  }
  double seconds_since_any(std::int64_t now_ns) const noexcept { return static_cast<double>(now_ns - any_ns_) * 1e-9; }
  double seconds_since(int peer, std::int64_t now_ns) const noexcept {
    return static_cast<double>(now_ns - moved_ns_[static_cast<std::size_t>(peer)]) * 1e-9;
  }

 private:
  std::int64_t limit_ns_;
  std::vector<std::int64_t> moved_ns_;
  std::int64_t any_ns_;
  std::int64_t checked_ns_;
};

}  // namespace lynxkv::comm
