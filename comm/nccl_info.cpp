#include "comm/nccl_info.hpp"

#ifdef LYNXKV_HAS_NCCL
#include <nccl.h>
#endif

namespace lynxkv::comm {

std::string nccl_version() {
#ifdef LYNXKV_HAS_NCCL
  int code = 0;
  if (const ncclResult_t result = ncclGetVersion(&code); result != ncclSuccess) return ncclGetErrorString(result);
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
#else
  return "built without NCCL";
#endif
}

}  // namespace lynxkv::comm
