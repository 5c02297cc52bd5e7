// The runtime's functions on the emulated device: devices, streams, events, launches.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "tests/cuda_emulation/emulator/api.hpp"

namespace cuda_emulation {

cudaError_t remember(cudaError_t error) {
  const std::lock_guard guard(lock());
  if (error != cudaSuccess) state().latest = error;
  return error;
}

cudaError_t with_stream(cudaStream_t handle, const std::function<void(State&, CUstream_st&)>& body) {
  const std::lock_guard guard(lock());
  State& all = state();
  if (all.sticky != cudaSuccess) return all.sticky;
  CUstream_st* stream = all.streams.find(handle);
  if (stream == nullptr) return remember(cudaErrorInvalidResourceHandle);
  body(all, *stream);
  return all.sticky;
}

void enqueue(State& all, CUstream_st& stream, std::function<void()> run) {
  all.streams.enqueue(stream, {[&all, run = std::move(run)] { all.run_guarded(run); }, nullptr, 0, nullptr});
}

void note_access(State& all, CUstream_st& stream, const void* at, std::size_t bytes, bool writes, bool transfer, const char* what) {
  if (!all.memory.is_device_address(at)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  all.run_guarded([&] { all.ordering.note({&stream, stream.enqueued + 1, begin, begin + bytes, writes, transfer, what}); });
}

cudaError_t set_shared_memory_limit(const void* entry, int bytes) {
  const std::lock_guard guard(lock());
  if (bytes < 0 || static_cast<std::size_t>(bytes) > shared_memory_most) return remember(cudaErrorInvalidValue);
  state().shared_memory_limits[entry] = bytes;
  return cudaSuccess;
}

int blocks_of(int threads, std::size_t shared_bytes) {
  const int by_threads = 2048 / (threads > 0 ? threads : 1);
  const int by_memory = static_cast<int>((shared_memory_most + 1024) / (shared_bytes + 1024));
  return by_threads < by_memory ? by_threads : by_memory;
}

cudaError_t enqueue_launch(const cudaLaunchConfig_t& config, const void* entry, std::size_t parameter_bytes,
                           std::function<void()> body) {
  const std::size_t threads = std::size_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  const std::size_t blocks = std::size_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttributeID id = config.attrs[i].id;
    if (id != cudaLaunchAttributeIgnore && id != cudaLaunchAttributePriority) return remember(cudaErrorNotSupported);
  }
  const std::lock_guard guard(lock());
  const auto found = state().shared_memory_limits.find(entry);
  const std::size_t asked = found == state().shared_memory_limits.end() ? 0 : static_cast<std::size_t>(found->second);
  const std::size_t limit = asked > shared_memory_without_asking ? asked : shared_memory_without_asking;
  if (threads == 0 || threads > 1024 || blocks == 0 || parameter_bytes > 4096 || config.dynamicSmemBytes > limit)
    return remember(cudaErrorInvalidValue);
  return with_stream(config.stream, [&](State& all, CUstream_st& stream) {
    enqueue(all, stream, [&all, config, body = std::move(body)] {
      all.threads.run(config.gridDim, config.blockDim, config.dynamicSmemBytes, body);
    });
  });
}

}  // namespace cuda_emulation

using namespace cuda_emulation;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress: return "misaligned address";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorNotSupported: return "operation not supported";
  }
  return "unknown error";
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard guard(lock());
  return state().sticky != cudaSuccess ? state().sticky : state().latest;
}
cudaError_t cudaGetLastError() {
  const std::lock_guard guard(lock());
  const cudaError_t error = cudaPeekAtLastError();
  state().latest = cudaSuccess;
  return error;
}

namespace {

thread_local int current_device = 0;

// The process's environment may say how many there are: 0 for a machine without a GPU.
int device_count() {
  const char* said = std::getenv("CUDA_EMULATION_DEVICES");
  return said != nullptr ? std::atoi(said) : state().setup.devices;
}

bool is_device(int device) { return device >= 0 && device < device_count(); }

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return remember(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_device(device)) return remember(cudaErrorInvalidDevice);
  *properties = cudaDeviceProp{};
  std::snprintf(properties->name, sizeof properties->name, "CUDA emulation");
  properties->major = 9;
  properties->totalGlobalMem = std::size_t{1} << 32;
  return cudaSuccess;
}

// Each process has GPUs of its own, unless its environment names the one that it sees.
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device) || length <= 0) return remember(cudaErrorInvalidDevice);
  const char* said = std::getenv("CUDA_EMULATION_BUS");
  const std::string bus = said != nullptr ? said : "emulated-" + std::to_string(getpid());
  std::snprintf(text, static_cast<std::size_t>(length), "%s:%02d", bus.c_str(), device);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard guard(lock());
  *total = std::size_t{1} << 32;
  *free = *total - std::min(*total, state().memory.allocated_bytes());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!is_device(device)) return remember(cudaErrorInvalidDevice);
  *value = attribute == cudaDevAttrMultiProcessorCount ? state().setup.processors : static_cast<int>(shared_memory_most);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard guard(lock());
  state().streams.run_all();
  state().streams.all_seen();
  return state().sticky;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  const std::lock_guard guard(lock());
  if (state().sticky != cudaSuccess) return state().sticky;
  *stream = state().streams.create();
  (*stream)->priority = priority;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return with_stream(stream, [&](State&, CUstream_st& found) { found.destroyed = stream != nullptr; });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_stream(stream, [](State& all, CUstream_st& found) {
    all.streams.run_until_empty(found);
    host_has_seen(found, found.enqueued);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  bool empty = false;
  const cudaError_t error = with_stream(stream, [&](State& all, CUstream_st& found) {
    if (!found.work.empty()) all.streams.step();
    empty = found.work.empty();
    if (empty) host_has_seen(found, found.enqueued);
  });
  return error == cudaSuccess && !empty ? cudaErrorNotReady : error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return with_stream(stream, [&](State& all, CUstream_st& found) {
    const EventState& waited = *event->state;
    if (waited.stream != nullptr) {
      found.after[waited.stream] = std::max(found.after[waited.stream], waited.index);
      for (const auto& [stream_before, index] : waited.after) found.after[stream_before] = std::max(found.after[stream_before], index);
    }
    all.streams.enqueue(found, {nullptr, event->state, event->state->recorded, nullptr});
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

namespace {
// The host has found an event reached.
void see(const EventState& event) {
  if (event.stream == nullptr) return;
  host_has_seen(*event.stream, event.index);
  host_has_seen(event.after);
}
}  // namespace

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return with_stream(stream, [&](State& all, CUstream_st& found) {
    const std::uint64_t count = ++event->state->recorded;
    event->state->stream = &found;
    event->state->index = found.enqueued;
    event->state->after = found.after;
    // Not guarded: streams that wait must go on to find the device's error.
    all.streams.enqueue(found, {[reached = event->state, count] {
                                  if (reached->reached < count) reached->reached = count;
                                }, nullptr, 0, nullptr});
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard guard(lock());
  State& all = state();
  if (event->state->reached < event->state->recorded) all.streams.step();
  if (all.sticky != cudaSuccess) return all.sticky;
  if (event->state->reached < event->state->recorded) return cudaErrorNotReady;
  see(*event->state);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard guard(lock());
  const EventState& wanted = *event->state;
  state().streams.run_until([&] { return wanted.reached >= wanted.recorded; }, nullptr);
  see(wanted);
  return state().sticky;
}
