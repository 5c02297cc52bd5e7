// The emulated link of one rank: every data message it sends occupies its outgoing wire, every one it receives its
// incoming wire, for bytes / rate. Departure = max(ready, free) + bytes / rate; delivery = departure + latency.
// No burst and no credit for idle time. Times in ns of base/clock.hpp; no clock is read here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lynxkv::comm {

class Pacing {
 public:
  // gbps 0: no limit of rate.
  Pacing(double gbps, double latency_us)
      : ns_per_byte_(gbps > 0 ? 8.0 / gbps : 0), latency_ns_(std::llround(latency_us * 1e3)) {}

  bool limits_rate() const noexcept { return ns_per_byte_ > 0; }
  bool active() const noexcept { return limits_rate() || latency_ns_ > 0; }
  std::int64_t latency_ns() const noexcept { return latency_ns_; }
  double bytes_per_second() const noexcept { return limits_rate() ? 1e9 / ns_per_byte_ : 0; }

  // When the outgoing wire is free to begin another message.
  std::int64_t send_free_ns() const noexcept { return send_free_ns_; }

  // A message that was ready at `ready_ns` takes the outgoing wire: when its last byte leaves.
  std::int64_t departure(std::int64_t ready_ns, std::size_t bytes) noexcept {
    send_free_ns_ = std::max(ready_ns, send_free_ns_) + time_for(bytes);
    return send_free_ns_;
  }

  // A message whose last byte came here at `arrival_ns` takes the incoming wire, which it shares with those of other
  // senders: when it is delivered. It streams through, so that a lone sender's messages are not slowed twice.
  std::int64_t delivery(std::int64_t arrival_ns, std::size_t bytes) noexcept {
    if (!limits_rate()) return arrival_ns + latency_ns_;
    receive_free_ns_ = std::max(arrival_ns - time_for(bytes), receive_free_ns_) + time_for(bytes);
    return receive_free_ns_ + latency_ns_;
  }

 private:
  std::int64_t time_for(std::size_t bytes) const noexcept {
    return std::llround(static_cast<double>(bytes) * ns_per_byte_);
  }

  double ns_per_byte_;
  std::int64_t latency_ns_;
  std::int64_t send_free_ns_ = 0;
  std::int64_t receive_free_ns_ = 0;
};

// When a message would have come over an exact wire: its departure, which it carries (by the sender's clock), and the
// shortest way that any message took of late. Threads that share cores look late at what departs and arrives; taken
// at face value, one such moment would shift the whole stream behind it. Needs no common clock, and follows its drift.
class Transit {
 public:
  std::int64_t arrival_ns(std::int64_t departed_ns, std::int64_t seen_ns) noexcept {
    if (seen_ns - span_began_ns_ > span_ns) {
      before_ns_ = now_ns_;
      now_ns_ = unknown;
      span_began_ns_ = seen_ns;
    }
    now_ns_ = std::min(now_ns_, seen_ns - departed_ns);
    return departed_ns + std::min(now_ns_, before_ns_);
  }

 private:
  static constexpr std::int64_t span_ns = 5'000'000'000;
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  // The shortest way in this span of time and in the one before it.
  std::int64_t now_ns_ = unknown;
  std::int64_t before_ns_ = unknown;
  std::int64_t span_began_ns_ = 0;
};

}  // namespace lynxkv::comm
