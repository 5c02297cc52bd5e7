// Steering the double of NCCL from tests: seed, errors on purpose, and what it has found wrong.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nccl_double {

struct Setup {
  std::uint64_t seed = 1;
  bool defers = true;            // calls give ncclInProgress and transfers rest, at random
  unsigned dwell_us = 0;         // how long each call stays inside: long enough to be met there by another thread
};

// Forgets communicators, misuse and errors on purpose. Handles from before are dangling.
void reset(const Setup& setup);

// What was done wrong since the last call, a sentence each.
std::vector<std::string> take_misuse();
// Communicators that nobody destroyed or aborted; the double then forgets them.
std::vector<std::string> take_leaks();

// From now on the communicators whose name contains `part` report `result` as their asynchronous error.
void fail(const std::string& part, ncclResult_t result);

struct CommunicatorInfo {
  std::string name;
  int rank = 0, ranks = 0;
  int traffic_class = NCCL_CONFIG_UNDEF_INT, max_ctas = NCCL_CONFIG_UNDEF_INT;
  bool blocking = true;
  std::string state;  // joining, alive, finalising, finalised, destroyed, aborted
  std::uint64_t sends = 0, receives = 0;
  std::size_t registered = 0;
  int stream_priority = 0;  // of its latest operation
};
std::vector<CommunicatorInfo> communicators();

}  // namespace nccl_double
