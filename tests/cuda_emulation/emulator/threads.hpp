// A kernel's blocks, one after the other; a block's threads as fibers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <random>

#include "tests/cuda_emulation/emulator/memory.hpp"

namespace cuda_emulation {

constexpr std::size_t shared_memory_most = 227 * 1024;  // of a block, as on sm_90
constexpr std::size_t shared_memory_without_asking = 48 * 1024;

class Threads {
 public:
  Threads(Memory& memory, std::mt19937_64& draw);
  ~Threads();

  // Runs the whole grid. Throws the first Fault.
  void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body);

  // The following are called by device functions, inside a kernel.
  bool inside() const noexcept;
  std::uint64_t meet(Meeting meeting, unsigned mask, std::uint64_t value, int argument, const Place& place);
  void read(const void* from, void* to, std::size_t bytes);
  void write(void* to, const void* from, std::size_t bytes);
  std::byte* memory_of_atomic(void* at, std::size_t bytes);
  void copy_to_shared(void* to, const void* from, std::size_t bytes);
  void commit_copies();
  void wait_for_copies(std::size_t groups_left);
  unsigned char* shared_memory() noexcept;
  // From the signal handler: the running thread touched memory that it may not. Does not return.
  [[noreturn]] void leave_by_signal(const void* at);

 private:
  struct Block;
  std::unique_ptr<Block> block_;
};

}  // namespace cuda_emulation
