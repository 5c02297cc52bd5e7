// The kernel tests' rig on a real GPU.
#include "kernels/cuda/devices.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda::rig {

bool is_emulation() { return false; }

std::string why_no_device() {
  const DeviceList list = list_devices();
  return list.devices.empty() ? list.note : std::string();
}

void under_every_setup(const std::function<void()>& body) { body(); }

}  // namespace lynxkv::kernels::cuda::rig
