// Turns a CUDA runtime error into an Error that names the call.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "base/error.hpp"

namespace lynxkv::kernels::cuda {

// A GPU that fails is a lost part of the job: it leaves with the exit code of the transport.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw Error(ErrorCode::transport, std::string("CUDA, ") + call, cudaGetErrorString(error));
}

}  // namespace lynxkv::kernels::cuda
