#include <cuda_runtime.h>
#include <unistd.h>

#include "kernels/cuda/devices.hpp"

namespace lynxkv::kernels::cuda {
namespace {

// Where there is no driver the runtime speaks of versions.
std::string why_none(cudaError_t error) {
  if (error == cudaErrorNoDevice) return "no GPU that this process may use";
  if (error != cudaErrorInsufficientDriver) return cudaGetErrorString(error);
  if (access("/proc/driver/nvidia/version", F_OK) != 0) return "no NVIDIA driver is loaded";
  return "the NVIDIA driver is too old for CUDA " + std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

}  // namespace

DeviceList list_devices() {
  DeviceList list;
  list.toolkit_version = CUDART_VERSION;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    list.note = why_none(error);
    return list;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    list.devices.push_back({properties.name, properties.major, properties.minor, properties.totalGlobalMem});
  }
  return list;
}

}  // namespace lynxkv::kernels::cuda
