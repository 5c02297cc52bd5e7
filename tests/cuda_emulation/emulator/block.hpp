// One block of a running kernel: its threads, what they wait for, its shared memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/cuda_emulation/emulator/fibers.hpp"
#include "tests/cuda_emulation/emulator/threads.hpp"

namespace cuda_emulation {

// A copy to shared memory that has not arrived.
struct LateCopy {
  std::byte* to;
  const void* from;
  std::size_t bytes;
};

struct Thread {
  enum class State { runnable, waiting, ended };

  Fiber fiber;
  uint3 index{};
  State state = State::runnable;
  // What it waits for, and what it got.
  Meeting meeting{};
  unsigned mask = 0;
  int argument = 0;
  std::uint64_t value = 0;
  Place place;
  std::vector<LateCopy> open_copies;
  std::deque<std::vector<LateCopy>> committed_copies;
};

// Shared memory that ends where nothing may be touched.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void size_to(std::size_t bytes);  // and filled with rubble
  unsigned char* data() const noexcept { return data_; }
  bool holds(const void* at, std::size_t bytes) const noexcept;

 private:
  unsigned char* region_ = nullptr;
  unsigned char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Threads::Block {
  Memory& memory;
  std::mt19937_64& draw;
  const std::function<void()>* body = nullptr;
  std::vector<std::unique_ptr<Thread>> threads;  // the first `count` take part
  int count = 0;
  std::vector<int> runnable;
  int at_barrier = 0;
  Thread* running = nullptr;
  std::optional<Fault> fault;
  SharedMemory shared;

  static Block* active;  // a fiber's entry takes nothing: it finds its block here
  static void enter();

  Block(Memory& memory_in, std::mt19937_64& draw_in) : memory(memory_in), draw(draw_in) {}
  void run(dim3 size, std::size_t shared_bytes);
  void thread_came(int index);  // to a meeting
  void release_barrier();
  bool warp_is_complete(int index) const;
  void release_warp(int index);
  std::string who_waits() const;
  void finish(const std::vector<LateCopy>& copies);
};

}  // namespace cuda_emulation
