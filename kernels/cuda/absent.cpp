// Stands in for the CUDA bodies in a build without CUDA.
#include "kernels/cuda/devices.hpp"

namespace lynxkv::kernels::cuda {

DeviceList list_devices() { return {{}, "built without CUDA", 0}; }

}  // namespace lynxkv::kernels::cuda
