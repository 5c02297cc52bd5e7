// Streams as queues of work, and the order in which it runs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/cuda_emulation/emulation.hpp"
#include "tests/cuda_emulation/emulator/ordering.hpp"

namespace cuda_emulation {

// How often an event was recorded by the host's calls, and how far the streams have come.
struct EventState {
  std::uint64_t recorded = 0, reached = 0;
  // Of the latest record: the stream, how much work it had, and what that came after.
  CUstream_st* stream = nullptr;
  std::uint64_t index = 0;
  After after;
};

struct Work {
  std::function<void()> run;
  std::shared_ptr<EventState> needs;  // ready once `needs` has reached `count`
  std::uint64_t count = 0;
  std::function<bool()> through;      // work that needs a peer: asked until it says that it is through
  bool ready() const { return (!needs || needs->reached >= count) && (!through || through()); }
};

}  // namespace cuda_emulation

struct CUstream_st {
  std::deque<cuda_emulation::Work> work;
  bool destroyed = false;  // by the host; what is queued still runs
  int priority = 0;        // as asked for; nothing here heeds it
  std::uint64_t enqueued = 0;   // pieces of work so far
  std::uint64_t host_seen = 0;  // of them the host knows to be over
  cuda_emulation::After after;  // by events that it waited for
};
struct CUevent_st {
  std::shared_ptr<cuda_emulation::EventState> state = std::make_shared<cuda_emulation::EventState>();
};

namespace cuda_emulation {

class Streams {
 public:
  Streams(Order order, std::mt19937_64& draw) : order_(order), draw_(draw) {}

  cudaStream_t create();
  // The default stream where `stream` is null; null where there is no such stream.
  CUstream_st* find(cudaStream_t stream);
  void enqueue(CUstream_st& stream, Work work);
  void run_until_empty(CUstream_st& stream);
  void run_until(const std::function<bool()>& done, CUstream_st* wanted);
  void run_all();
  // Something runs, if anything can: a host that polls gets on.
  void step();

  // Everything that was enqueued is over, to the host's knowledge.
  void all_seen();

 private:
  // Work that waits for a peer, which may be another process.
  bool waits_for_peer() const;
  std::vector<CUstream_st*> ready(CUstream_st* but = nullptr) const;
  bool run_one_of(const std::vector<CUstream_st*>& streams);
  bool run_towards(CUstream_st* wanted);

  Order order_;
  std::mt19937_64& draw_;
  CUstream_st default_stream_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
};

}  // namespace cuda_emulation
