// ClockOffset: how far a peer's clock is from ours, from round trips of small messages. The shortest one counts:
// it waited least, and half of it bounds the error.
#pragma once

#include <cstdint>

namespace lynxkv::comm {

class ClockOffset {
 public:
  // Our clock when the question left and when the answer came; the peer's when it answered.
  void sample(std::int64_t asked_ns, std::int64_t peer_ns, std::int64_t answered_ns) noexcept {
    const std::int64_t round_trip = answered_ns - asked_ns;
    ++samples_;
    if (round_trip < 0 || (samples_ > 1 && round_trip >= round_trip_ns_)) return;
    round_trip_ns_ = round_trip;
    offset_ns_ = asked_ns + round_trip / 2 - peer_ns;
  }
  int samples() const noexcept { return samples_; }
  // Add to a time of the peer's clock to get ours. 0 where nothing was measured.
  std::int64_t offset_ns() const noexcept { return offset_ns_; }
  std::int64_t error_ns() const noexcept { return (round_trip_ns_ + 1) / 2; }
  std::int64_t round_trip_ns() const noexcept { return round_trip_ns_; }

 private:
  std::int64_t offset_ns_ = 0;
  std::int64_t round_trip_ns_ = 0;
  int samples_ = 0;
};

}  // namespace lynxkv::comm
