// The GPUs that this process sees. A build without CUDA sees none and says why.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lynxkv::kernels::cuda {

struct Device {
  std::string name;
  int major = 0, minor = 0;           // compute capability
  std::size_t memory_bytes = 0;
};

struct DeviceList {
  std::vector<Device> devices;
  std::string note;  // why there are none: "built without CUDA", "no NVIDIA driver is loaded", ...
  int toolkit_version = 0;  // CUDART_VERSION of the build, 13000 for 13.0; 0 without CUDA
};

DeviceList list_devices();

}  // namespace lynxkv::kernels::cuda
