// LYNXKV_HOST_DEVICE marks the scalar source that the CPU and the CUDA kernels share.
#pragma once

#if defined(__CUDACC__)
#define LYNXKV_HOST_DEVICE __host__ __device__
#else
#define LYNXKV_HOST_DEVICE
#endif
