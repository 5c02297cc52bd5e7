// NCCL's functions on the double: groups, sends, receives.
#include <nccl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/nccl_double/double/call.hpp"

using namespace nccl_double;

namespace {

struct Group {
  int depth = 0;
  std::vector<std::pair<ncclComm_t, std::shared_ptr<Launch>>> launches;
};
thread_local Group group;

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclInt32:
    case ncclFloat32: return 4;
    case ncclUint64: return 8;
  }
  return 0;
}

// Where one rank uses registered buffers, all have to.
bool fits_registration(const ncclComm& comm, const Operation& operation) {
  if (comm.registered.empty() || operation.bytes == 0) return true;
  return std::any_of(comm.registered.begin(), comm.registered.end(), [&](const auto& one) {
    const auto& [first, bytes] = one.second;
    return operation.buffer >= first && operation.buffer + operation.bytes <= first + bytes;
  });
}

ncclResult_t launch(ncclComm_t comm, const std::shared_ptr<Launch>& made) {
  Call call(comm, "ncclGroupEnd", true);
  if (call.allowed() != ncclSuccess) return call.allowed();
  Shared& shared = **comm->segment;
  for (Operation& operation : made->operations) {
    operation.number = ++(operation.sends ? comm->sends : comm->receives)[operation.peer];
    Pair& pair = operation.sends ? shared.pairs[comm->rank][operation.peer] : shared.pairs[operation.peer][comm->rank];
    (operation.sends ? pair.sends_called : pair.receives_called) = operation.number;
  }
  comm->waiting.push_back(made);
  comm->rests = state().setup.defers ? static_cast<int>(state().draw() % 4) : 0;
  if (try_to_launch(*comm)) return ncclSuccess;
  if (comm->config.blocking == 0) return ncclInProgress;
  ncclResult_t result = ncclInProgress;
  while ((result = state_of(*comm)) == ncclInProgress) call.breathe();
  return result;
}

ncclResult_t add(Operation operation, std::size_t count, ncclComm_t comm, cudaStream_t stream, const char* name) {
  const bool alone = group.depth == 0;
  {
    Call call(comm, name, true);
    if (call.allowed() != ncclSuccess) return call.allowed();
    operation.bytes = count * size_of(operation.type);
    if (operation.peer < 0 || operation.peer >= comm->ranks || operation.peer == comm->rank) return ncclInvalidArgument;
    if (!fits_registration(*comm, operation))
      return misuse(comm, named(*comm) + ": a buffer that is not registered, beside registered ones");
    const auto found = std::find_if(group.launches.begin(), group.launches.end(), [&](const auto& one) { return one.first == comm; });
    if (found == group.launches.end()) {
      group.launches.emplace_back(comm, std::make_shared<Launch>());
      group.launches.back().second->stream = stream;
      group.launches.back().second->operations.push_back(operation);
    } else {
      if (found->second->stream != stream) return misuse(comm, "the double takes one stream for each communicator in a group");
      found->second->operations.push_back(operation);
    }
  }
  if (!alone) return ncclSuccess;
  ++group.depth;
  return ncclGroupEnd();
}

}  // namespace

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return misuse(nullptr, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (const auto& [comm, made] : std::exchange(group.launches, {})) {
    const ncclResult_t one = launch(comm, made);
    if (result == ncclSuccess || (one != ncclSuccess && one != ncclInProgress)) result = one;
  }
  return result;
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  Operation operation{};
  operation.sends = true;
  operation.peer = peer;
  operation.buffer = static_cast<std::byte*>(const_cast<void*>(from));
  operation.type = type;
  return add(operation, count, comm, stream, "ncclSend");
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  Operation operation{};
  operation.peer = peer;
  operation.buffer = static_cast<std::byte*>(to);
  operation.type = type;
  return add(operation, count, comm, stream, "ncclRecv");
}
