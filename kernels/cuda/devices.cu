#include <cuda_runtime.h>

#include "kernels/cuda/devices.hpp"

namespace lynxkv::kernels::cuda {

DeviceList list_devices() {
  DeviceList list;
  list.toolkit_version = CUDART_VERSION;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    list.note = cudaGetErrorString(error);
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
