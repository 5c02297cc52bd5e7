// Faults on purpose, for tests and studies: a transport that damages, loses and delays what it receives. Seeded; the
// same arrivals meet the same faults.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/transport.hpp"

namespace lynxkv::comm {

struct FaultOptions {
  double flip = 0;         // probability, for each data message, that one of its bits is flipped
  double drop = 0;         // probability that a data message never arrives
  double delay_ms = 0;     // each message is held for a random time up to this; order within a channel and pair is kept
  double stall_s = 0;      // for so long nothing arrives at all, at a random moment of every ten seconds or so
  bool control = false;    // flip and drop hit control messages as well
  std::uint64_t seed = 1;

  bool any() const noexcept { return flip > 0 || drop > 0 || delay_ms > 0 || stall_s > 0; }
};

std::unique_ptr<Transport> with_faults(std::unique_ptr<Transport> transport, const FaultOptions& options);

}  // namespace lynxkv::comm
