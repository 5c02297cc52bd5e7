// What this process has for NCCL: its version and the GPUs that it sees.
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "comm/nccl.hpp"
#include "comm/nccl_info.hpp"

namespace lynxkv::comm {
namespace {

// The runtime's own words for it talk of versions where there is simply no driver.
std::string why_no_gpu(cudaError_t error) {
  if (error == cudaErrorNoDevice) return "no GPU that this process may use";
  if (error != cudaErrorInsufficientDriver) return std::string("no GPU (") + cudaGetErrorString(error) + ")";
  if (access("/proc/driver/nvidia/version", F_OK) != 0) return "no GPU (no NVIDIA driver is loaded)";
  return "the NVIDIA driver is too old for CUDA " + std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

bool is_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::atoi(value) != 0;
}

}  // namespace

NcclFacts nccl_facts() {
  constexpr const char* queues = "CUDA_DEVICE_MAX_CONNECTIONS";
  // Eight by default; the runtime reads it when it first looks for a GPU.
  setenv(queues, "32", 0);
  NcclFacts facts;
  char host[256] = {};
  facts.host = gethostname(host, sizeof host - 1) == 0 ? host : "unknown";
  facts.version = nccl_version();
  facts.queues = std::clamp(std::atoi(std::getenv(queues)), 1, 32);
  if (is_on("NCCL_LAUNCH_ORDER_IMPLICIT"))
    facts.trouble = "NCCL_LAUNCH_ORDER_IMPLICIT is set, which makes transfers with different ranks wait for each other; unset it";
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    facts.trouble = why_no_gpu(error);
    return facts;
  }
  for (int device = 0; device < count; ++device) {
    char bus[64] = {};
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) == cudaSuccess) facts.gpus.emplace_back(bus);
  }
  if (facts.gpus.empty() && facts.trouble.empty()) facts.trouble = "no GPU that this process may use";
  return facts;
}

}  // namespace lynxkv::comm
