// Stands in for the NCCL transport in a build without NCCL.
#include <unistd.h>

#include "base/error.hpp"
#include "comm/nccl.hpp"

namespace lynxkv::comm {

std::unique_ptr<Transport> make_nccl(std::unique_ptr<Transport>, const NcclOptions&) {
  throw Error(ErrorCode::usage, "link.transport: nccl",
              "this program was built without NCCL; build it where CUDA and NCCL are installed, or use link.transport: mpi");
}

NcclFacts nccl_facts() {
  NcclFacts facts;
  char host[256] = {};
  facts.host = gethostname(host, sizeof host - 1) == 0 ? host : "unknown";
  facts.trouble = "built without NCCL";
  return facts;
}

}  // namespace lynxkv::comm
