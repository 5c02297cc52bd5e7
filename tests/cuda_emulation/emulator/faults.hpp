// What a kernel did wrong. Thrown inside a kernel's thread or a queued copy; the device then stays in that error.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace cuda_emulation {

struct Fault {
  cudaError_t error;
  std::string text;
};

}  // namespace cuda_emulation
