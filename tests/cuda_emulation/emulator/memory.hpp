// Device memory: addresses in a stretch of address space where nothing may be touched; the bytes lie elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tests/cuda_emulation/emulation.hpp"
#include "tests/cuda_emulation/emulator/faults.hpp"

namespace cuda_emulation {

enum class Access { read, write };

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // An address that nobody had before, 256-byte aligned; null where no memory is left. Rubble until written.
  void* allocate_device(std::size_t bytes);
  // False where no allocation begins there.
  bool release_device(void* address);
  // Stream-ordered: the address exists at once, the memory from make_live() on.
  void* reserve_device(std::size_t bytes);
  bool make_live(void* address);

  void* allocate_pinned(std::size_t bytes);
  bool release_pinned(void* memory);
  bool is_pinned(const void* at, std::size_t bytes) const;
  // Begins in pinned memory and runs past its end.
  bool overruns_pinned(const void* at, std::size_t bytes) const;

  std::size_t allocated_bytes() const;  // device memory that is live
  // Of the allocation that begins there; 0 without one.
  std::size_t size_of(const void* address) const;
  bool is_device_address(const void* at) const;
  // The bytes behind a device address. Throws a Fault unless all of it lies in one live allocation.
  std::byte* resolve(const void* at, std::size_t bytes, Access access, bool from_kernel);

  void begin_launch() { ++launch_; }
  Traffic traffic;

 private:
  struct Block {
    std::size_t bytes = 0;
    bool live = false;
    std::unique_ptr<std::byte[]> data;
    std::vector<std::uint32_t> read_in, written_in;  // by sector: the launch that last touched it
  };
  void count(Block& block, std::size_t offset, std::size_t bytes, Access access);

  std::uintptr_t first_ = 0, next_ = 0, end_ = 0;
  std::map<std::uintptr_t, Block> blocks_;
  std::pair<const std::uintptr_t, Block>* latest_ = nullptr;  // most accesses hit the block that the last one hit
  std::map<std::uintptr_t, std::unique_ptr<std::byte[]>> pinned_;
  std::map<std::uintptr_t, std::size_t> pinned_bytes_;
  std::uint32_t launch_ = 0;
};

}  // namespace cuda_emulation
