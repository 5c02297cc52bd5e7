// Steering the CUDA emulation from tests: seed, device, traffic counts, faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuda_emulation {

// When queued work runs, as far as stream order and events leave it open.
enum class Order {
  drawn,         // anything, from the seed
  late,          // only what the host waits for
  others_first,  // before what the host waits for, everything else that can run
};

struct Setup {
  std::uint64_t seed = 1;
  Order order = Order::drawn;
  int processors = 2;  // multiprocessors: few, so that blocks take several items in turn
  int devices = 1;     // GPUs of this process; they share one memory
};

// Forgets all work, memory, faults and counts. Handles and pointers from before are dangling.
void reset(const Setup& setup);

// Of all kernels since the last clear. Sectors are 32 bytes, each counted once for a launch: what has to come from or
// go to memory at least; bytes are what the kernels asked for.
struct Traffic {
  std::uint64_t launches = 0;
  std::uint64_t bytes_read = 0, bytes_written = 0;
  std::uint64_t sectors_read = 0, sectors_written = 0;
  std::uint64_t atomics = 0;
};
const Traffic& traffic();
void clear_traffic();

// The text of the fault that the device is in, empty without one.
const std::string& last_fault();

}  // namespace cuda_emulation
