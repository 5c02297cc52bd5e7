// Credits: how many residual bytes of this rank may be on the way at a time, over all peers. A fixed chunk: the larger
// of it and twice the bandwidth-delay product (twice, so that the estimate can grow to what the link gives). A chunk
// that adapts is what the link carries in 2 ms, 32 to 256 KiB; more than one is on the way only where receipts come so
// late that the wire would run dry. An urgent page therefore waits for about one chunk at most.
// On an emulated link the delay is the longest of late, up to some chunks' worth: what has left an emulated wire is
// not in the way of an urgent page, and receipts of threads that share cores come late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.hpp"
#include "comm/link_speed.hpp"

namespace lynxkv::comm {

class Credits {
 public:
  // `bytes_per_second`: of an emulated link, which is known; 0 where the rate is to be measured.
  // `latency_ns`: emulated, beside the round trip of small messages that is measured.
  // `chunk_bytes` 0: adapts.
  Credits(int peers, std::size_t chunk_bytes, double bytes_per_second, std::int64_t latency_ns);

  // Whether `bytes` more may leave. A message larger than the window leaves alone.
  bool fits(std::size_t bytes) const noexcept { return in_flight_ == 0 || in_flight_ + bytes <= window(); }
  std::size_t window() const noexcept;
  std::size_t chunk_bytes() const noexcept;
  // By receipts, or what is known of an emulated link. 0 while nothing is known.
  double rate() const noexcept { return fixed_rate_ > 0 ? fixed_rate_ : speed_.rate(); }
  double lateness_ns() const noexcept { return speed_.lateness_ns(); }
  std::size_t in_flight_bytes() const noexcept { return in_flight_; }
  std::size_t in_flight_bytes(int peer) const noexcept;
  // When the last receipt came: what waited for credit was free to go from then on.
  std::int64_t last_receipt_ns() const noexcept { return delivered_ns_; }

  // `left_ns`: when its last byte leaves the emulated wire; without one, now.
  void sent(int peer, std::size_t bytes, std::int64_t left_ns);
  // `peer` has received `count` messages in all. Error{transport} for more than were sent, or fewer than before.
  Result<void> acknowledged(int peer, std::uint64_t count, std::int64_t now_ns);
  // A round trip of a small message, unslowed by data.
  void round_trip(std::int64_t ns) noexcept;
  bool knows_round_trip() const noexcept { return round_trip_ns_ > 0; }
  // The peer has closed: nothing of it is waited for any more.
  void drop_peer(int peer);

 private:
  struct Sent {
    std::size_t bytes;
    std::int64_t left_ns;
    std::size_t ahead_bytes;        // on the way then, its own too
    std::uint64_t delivered_bytes;  // in all, when this was sent
    std::int64_t delivered_ns;
  };
  struct Peer {
    std::deque<Sent> flying;
    std::size_t flying_bytes = 0;
    std::uint64_t acknowledged = 0;
  };
  void note(const Sent& sent, std::int64_t now_ns) noexcept;
  std::size_t adapted_window() const noexcept;

  std::vector<Peer> peers_;
  std::size_t chunk_bytes_;
  double fixed_rate_;
  std::int64_t latency_ns_;
  std::size_t in_flight_ = 0;
  std::uint64_t delivered_bytes_ = 0;
  std::int64_t delivered_ns_ = 0;
  std::int64_t round_trip_ns_ = 0;
  LinkSpeed speed_;
  // The highest rate (bytes per second) and the longest delay of a receipt, in this span of time and the one before.
  double rate_now_ = 0, rate_before_ = 0;
  std::int64_t delay_now_ns_ = 0, delay_before_ns_ = 0;
  std::int64_t span_began_ns_ = 0;
};

}  // namespace lynxkv::comm
