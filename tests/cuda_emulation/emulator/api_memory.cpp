// The runtime's functions on the emulated device: memory and copies.
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "tests/cuda_emulation/emulator/api.hpp"

using namespace cuda_emulation;

namespace {

// Where a copy's end lies. Throws a Fault for a device address without memory.
std::byte* side(State& all, const void* at, std::size_t bytes, Access access) {
  if (all.memory.is_device_address(at)) return all.memory.resolve(at, bytes, access, false);
  return static_cast<std::byte*>(const_cast<void*>(at));
}

bool fits(const State& all, const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return true;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return all.memory.is_device_address(to) == to_device && all.memory.is_device_address(from) == from_device;
}

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const std::lock_guard guard(lock());
  if (state().sticky != cudaSuccess) return state().sticky;
  *memory = state().memory.allocate_device(bytes);
  return *memory == nullptr ? remember(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const std::lock_guard guard(lock());
  if (memory == nullptr) return cudaSuccess;
  state().streams.run_all();  // as the real one waits for the device
  state().run_guarded([&] { state().ordering.check_freed(memory, state().memory.size_of(memory)); });
  if (!state().memory.release_device(memory)) return remember(cudaErrorInvalidValue);
  return state().sticky;
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return with_stream(stream, [&](State& all, CUstream_st& found) {
    *memory = all.memory.reserve_device(bytes);
    enqueue(all, found, [&all, at = *memory] {
      if (!all.memory.make_live(at)) throw Fault{cudaErrorMemoryAllocation, "no host memory for device memory"};
    });
  });
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return with_stream(stream, [&](State& all, CUstream_st& found) {
    enqueue(all, found, [&all, memory] {
      if (!all.memory.release_device(memory)) throw Fault{cudaErrorInvalidValue, "cudaFreeAsync of what was not allocated"};
    });
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  const std::lock_guard guard(lock());
  *memory = state().memory.allocate_pinned(bytes);
  return *memory == nullptr ? remember(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const std::lock_guard guard(lock());
  if (memory == nullptr) return cudaSuccess;
  state().streams.run_all();
  return state().memory.release_pinned(memory) ? state().sticky : remember(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  {
    // Not for longer: a copy that waits for a peer lets other threads on.
    const std::lock_guard guard(lock());
    const Memory& memory = state().memory;
    if (!fits(state(), to, from, kind) || memory.overruns_pinned(to, bytes) || memory.overruns_pinned(from, bytes))
      return remember(cudaErrorInvalidValue);
  }
  return with_stream(stream, [&](State& all, CUstream_st& found) {
    const bool from_device = all.memory.is_device_address(from), to_device = all.memory.is_device_address(to);
    note_access(all, found, from, bytes, false, false, "a copy");
    note_access(all, found, to, bytes, true, false, "a copy");
    if (!from_device && !all.memory.is_pinned(from, bytes)) {
      // Pageable memory is taken before the call returns, as the driver does.
      const auto* first = static_cast<const std::byte*>(from);
      enqueue(all, found, [&all, to, bytes, taken = std::vector<std::byte>(first, first + bytes)] {
        if (bytes > 0) std::memcpy(side(all, to, bytes, Access::write), taken.data(), bytes);
      });
      return;
    }
    enqueue(all, found, [&all, to, from, bytes] {
      if (bytes > 0) std::memmove(side(all, to, bytes, Access::write), side(all, from, bytes, Access::read), bytes);
    });
    // To pageable memory the call returns when the bytes are there.
    if (!to_device && !all.memory.is_pinned(to, bytes)) {
      all.streams.run_until_empty(found);
      host_has_seen(found, found.enqueued);
    }
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream) {
  return with_stream(stream, [&](State& all, CUstream_st& found) {
    note_access(all, found, memory, bytes, true, false, "a fill");
    enqueue(all, found, [&all, memory, byte, bytes] {
      if (bytes > 0) std::memset(all.memory.resolve(memory, bytes, Access::write, false), byte, bytes);
    });
  });
}

cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  const cudaError_t error = cudaMemsetAsync(memory, byte, bytes, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}
