// Everything behind the emulated runtime: one device, and one lock over it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <random>

#include "tests/cuda_emulation/emulator/memory.hpp"
#include "tests/cuda_emulation/emulator/streams.hpp"
#include "tests/cuda_emulation/emulator/threads.hpp"

namespace cuda_emulation {

struct State {
  explicit State(const Setup& given) : setup(given), draw(given.seed), streams(given.order, draw), threads(memory, draw) {}

  Setup setup;
  std::mt19937_64 draw;
  Memory memory;
  Streams streams;
  Threads threads;
  Ordering ordering;
  std::map<const void*, int> shared_memory_limits;  // by kernel
  cudaError_t sticky = cudaSuccess;                 // a fault: the device is of no more use
  cudaError_t latest = cudaSuccess;
  std::string fault;

  // A piece of queued work: its fault becomes the device's, and nothing after it runs.
  void run_guarded(const std::function<void()>& work);
};

State& state();
std::recursive_mutex& lock();

}  // namespace cuda_emulation
