// RAII over the CUDA runtime's handles.
#include "kernels/cuda/runtime.hpp"

#include "kernels/cuda/cuda_error.cuh"

namespace lynxkv::kernels::cuda {
namespace {

template <class T, class Allocate>
T* allocate(std::size_t bytes, const char* call, Allocate allocate_bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (const cudaError_t error = allocate_bytes(&memory, bytes); error != cudaSuccess) {
    (void)cudaGetLastError();  // no memory is not sticky: the caller may try less
    throw Error(ErrorCode::transport, std::string("CUDA, ") + call,
                std::to_string(bytes) + " bytes asked for: " + cudaGetErrorString(error));
  }
  return static_cast<T*>(memory);
}

}  // namespace

// Errors while closing have been or will be reported by the work itself.
void StreamTraits::close(type stream) noexcept { (void)cudaStreamDestroy(stream); }
void EventTraits::close(type event) noexcept { (void)cudaEventDestroy(event); }
void DeviceMemoryTraits::close(type memory) noexcept { (void)cudaFree(memory); }
void PinnedMemoryTraits::close(type memory) noexcept { (void)cudaFreeHost(memory); }

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync), "cudaEventCreateWithFlags");
  handle_.reset(event);
}

bool Event::ready() const {
  const cudaError_t state = cudaEventQuery(handle_.get());
  if (state == cudaErrorNotReady) return false;
  check(state, "cudaEventQuery");
  return true;
}

void Event::synchronise() const { check(cudaEventSynchronize(handle_.get()), "cudaEventSynchronize"); }

Stream::Stream(StreamPriority priority) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     priority == StreamPriority::high ? greatest : least),
        "cudaStreamCreateWithPriority");
  handle_.reset(stream);
}

void Stream::record(const Event& event) const { check(cudaEventRecord(event.get(), handle_.get()), "cudaEventRecord"); }
void Stream::wait(const Event& event) const {
  check(cudaStreamWaitEvent(handle_.get(), event.get(), 0), "cudaStreamWaitEvent");
}
void Stream::synchronise() const { check(cudaStreamSynchronize(handle_.get()), "cudaStreamSynchronize"); }

DeviceMemory::DeviceMemory(std::size_t bytes)
    : handle_(allocate<std::byte>(bytes, "cudaMalloc", [](void** at, std::size_t size) { return cudaMalloc(at, size); })),
      bytes_(bytes) {}

PinnedMemory::PinnedMemory(std::size_t bytes)
    : handle_(allocate<std::byte>(bytes, "cudaHostAlloc",
                                  [](void** at, std::size_t size) { return cudaHostAlloc(at, size, cudaHostAllocDefault); })),
      bytes_(bytes) {}

void copy_to_device(void* device, const void* host, std::size_t bytes, StreamHandle stream) {
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync to the device");
}
void copy_to_host(void* host, const void* device, std::size_t bytes, StreamHandle stream) {
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync to the host");
}
void copy_on_device(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync on the device");
}
void fill_device(void* device, int byte, std::size_t bytes, StreamHandle stream) {
  check(cudaMemsetAsync(device, byte, bytes, stream), "cudaMemsetAsync");
}

}  // namespace lynxkv::kernels::cuda
