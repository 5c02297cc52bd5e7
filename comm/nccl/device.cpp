#include "comm/nccl/device.hpp"

#include <cuda_runtime.h>

#include "base/error.hpp"

namespace lynxkv::comm::nccl {
namespace {

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw Error(ErrorCode::transport, std::string("CUDA, ") + call, cudaGetErrorString(error));
}

}  // namespace

// Errors while closing have been or will be reported by the work itself.
void StreamTraits::close(type stream) noexcept { (void)cudaStreamDestroy(stream); }
void EventTraits::close(type event) noexcept { (void)cudaEventDestroy(event); }
void PinnedTraits::close(type memory) noexcept { (void)cudaFreeHost(memory); }

Stream::Stream(bool urgent) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent ? greatest : least), "cudaStreamCreateWithPriority");
  handle_.reset(stream);
}

void Stream::record(const Event& event) const { check(cudaEventRecord(event.get(), handle_.get()), "cudaEventRecord"); }
void Stream::wait(const Event& event) const { check(cudaStreamWaitEvent(handle_.get(), event.get(), 0), "cudaStreamWaitEvent"); }

void Stream::to_device(std::byte* device, const std::byte* pinned, std::size_t bytes) const {
  check(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, handle_.get()), "cudaMemcpyAsync to the device");
}
void Stream::to_host(std::byte* pinned, const std::byte* device, std::size_t bytes) const {
  check(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, handle_.get()), "cudaMemcpyAsync to the host");
}

Event Events::take() {
  if (!free_.empty()) {
    Event event = std::move(free_.back());
    free_.pop_back();
    return event;
  }
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return Event(event);
}

bool is_reached(const Event& event) {
  const cudaError_t state = cudaEventQuery(event.get());
  if (state == cudaErrorNotReady) return false;
  check(state, "cudaEventQuery");
  return true;
}

Pinned make_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
  return Pinned(static_cast<std::byte*>(memory));
}

void use_device(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }

std::size_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

}  // namespace lynxkv::comm::nccl
