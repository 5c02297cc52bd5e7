// The block's dynamic shared memory. A function, because `extern __shared__` is the one thing in our kernels that is
// not C++: compiled as C++ for the emulation in tests/, the double of <cuda_runtime.h> supplies the memory.
#pragma once

#include <cuda_runtime.h>

namespace lynxkv::kernels::cuda {

#if defined(__CUDACC__)
__device__ inline unsigned char* shared_memory() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
  return dynamic_shared_memory;
}
#else
inline unsigned char* shared_memory() { return emulated_shared_memory(); }
#endif

}  // namespace lynxkv::kernels::cuda
