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
// The next piece of work of `stream` will touch these bytes, where they are device memory.
void note_access(State& all, CUstream_st& stream, const void* at, std::size_t bytes, bool writes, bool transfer, const char* what);

}  // namespace cuda_emulation
