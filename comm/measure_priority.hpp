// What priority is worth: small urgent messages from rank 0 to rank 1 while the same pair's link is full of bulk
// traffic, beside the same messages on the idle link, and beside the same bytes over the raw link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/measure_transfer.hpp"

namespace lynxkv::comm {

struct PriorityLoad {
  std::size_t urgent_bytes = 32 * 1024;
  int urgent = 500;               // messages measured, in all rounds together
  double interval_s = 0.005;      // between urgent messages, at the mean; the moments are random
  bool two_channels = true;       // false: urgent and bulk share one channel, as with one communicator
  std::size_t backlog_bytes = std::size_t{4} << 20;  // bulk that waits for the wire
  int rounds = 5;                 // the link under load and the raw link take turns
  std::uint64_t seed = 1;
};

// The same on every rank, but for `wrong`, which is this rank's.
struct PriorityTimes {
  // Seconds from send() until the receiver's inbox has the message, by rank 0's clock.
  std::vector<double> idle_s, loaded_s;
  double seconds = 0, raw_seconds = 0;        // under load, and of the raw link
  std::uint64_t bytes = 0;                    // bulk and urgent, on either
  std::uint64_t urgent_bytes = 0;
  std::vector<double> shares;                 // of the raw rate, by round
  std::size_t chunk_bytes = 0;                // residual bytes that may stand before an urgent message
  double chunk_s = 0;                         // that they take of the raw or the emulated link
  double clock_error_s = 0;
  std::uint64_t wrong = 0;
};

// Collective. Ranks past 1 only take part in the barriers.
PriorityTimes measure_priority(LinkEnds ends, const PriorityLoad& load);

}  // namespace lynxkv::comm
