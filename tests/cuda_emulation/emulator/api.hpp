// What the two halves of the emulated runtime's functions share.
#pragma once

#include <functional>

#include "tests/cuda_emulation/emulator/state.hpp"

namespace cuda_emulation {

// For cudaGetLastError.
cudaError_t remember(cudaError_t error);
// Runs `body` with the stream, under the lock, unless the device is in a fault or there is no such stream.
cudaError_t with_stream(cudaStream_t handle, const std::function<void(State&, CUstream_st&)>& body);
void enqueue(State& all, CUstream_st& stream, std::function<void()> run);

}  // namespace cuda_emulation
