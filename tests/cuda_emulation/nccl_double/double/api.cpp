// NCCL's functions on the double: communicators and memory.
#include <nccl.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "tests/cuda_emulation/emulator/state.hpp"
#include "tests/cuda_emulation/nccl_double/double/call.hpp"

using namespace nccl_double;

namespace {

int some_rests() { return state().setup.defers ? static_cast<int>(state().draw() % 5) : 0; }

// What a blocking communicator does: stays until it is over.
ncclResult_t stay(ncclComm& comm, Call& call) {
  ncclResult_t result = ncclInProgress;
  while ((result = state_of(comm)) == ncclInProgress) call.breathe();
  return result;
}

ncclResult_t leave(ncclComm_t comm, Call& call, Stage stage) {
  if (call.allowed() != ncclSuccess) return call.allowed();
  Member& member = (*comm->segment)->members[comm->rank];
  if (stage == Stage::aborted) member.aborted = 1;
  member.left = 1;
  drop_everything(*comm);
  comm->stage = stage;
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* texts[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error",
                                   "invalid argument", "invalid usage", "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return result >= 0 && result <= 7 ? texts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
  static thread_local std::string text;
  const std::lock_guard guard(cuda_emulation::lock());
  text = state().last_error;
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard guard(cuda_emulation::lock());
  std::memset(id, 0, sizeof *id);
  const std::string name = Segment::create();
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const std::lock_guard guard(cuda_emulation::lock());
  *made = nullptr;
  if (config == nullptr || config->size != sizeof(ncclConfig_t) || config->magic != 0xcafebeef)
    return misuse(nullptr, "ncclCommInitRankConfig with a config that NCCL_CONFIG_INITIALIZER has not made");
  if (ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  id.internal[NCCL_UNIQUE_ID_BYTES - 1] = 0;
  auto comm = std::make_unique<ncclComm>();
  try {
    comm->segment = std::make_unique<Segment>(id.internal);
  } catch (const std::runtime_error& error) {
    state().last_error = error.what();
    return ncclSystemError;
  }
  comm->name = config->commName != nullptr ? config->commName : "unnamed";
  comm->rank = rank;
  comm->ranks = ranks;
  comm->config = *config;
  comm->rests = some_rests();
  Shared& shared = **comm->segment;
  std::uint32_t none = 0;
  if (!shared.ranks.compare_exchange_strong(none, static_cast<std::uint32_t>(ranks)) && none != static_cast<std::uint32_t>(ranks))
    return misuse(nullptr, named(*comm) + " has " + std::to_string(ranks) + " ranks here and " + std::to_string(none) + " elsewhere");
  Member& member = shared.members[rank];
  if (member.joined != 0) return misuse(nullptr, named(*comm) + ": that rank is taken");
  int device = 0;
  cudaGetDevice(&device);
  if (cudaDeviceGetPCIBusId(member.bus, sizeof member.bus, device) != cudaSuccess) return ncclUnhandledCudaError;
  member.pid = getpid();
  member.joined = 1;
  *made = comm.get();
  state().communicators.push_back(std::move(comm));
  if (config->blocking == 0) return ncclInProgress;
  Call call(*made, "ncclCommInitRankConfig", false);
  return stay(**made, call);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  Call call(comm, "ncclCommGetAsyncError", false);
  *result = call.allowed();
  if (call.allowed() != ncclSuccess) return ncclInvalidArgument;
  *result = state_of(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Call call(comm, "ncclCommFinalize", true);
  if (call.allowed() != ncclSuccess) return call.allowed();
  comm->stage = Stage::finalising;
  comm->rests = some_rests();
  return comm->config.blocking == 0 ? ncclInProgress : stay(*comm, call);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Call call(comm, "ncclCommDestroy", false);
  if (call.allowed() == ncclSuccess) {
    if (!comm->running.empty() || !comm->waiting.empty())
      misuse(comm, named(*comm) + " is destroyed with operations that are not through");
    else if (comm->stage == Stage::joining || comm->stage == Stage::finalising)
      misuse(comm, named(*comm) + " is destroyed while it is " + name_of(comm->stage));
    if (!comm->registered.empty())
      misuse(comm, named(*comm) + " is destroyed with " + std::to_string(comm->registered.size()) + " buffers registered");
  }
  return leave(comm, call, Stage::destroyed);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Call call(comm, "ncclCommAbort", false);
  return leave(comm, call, Stage::aborted);
}

ncclResult_t ncclMemAlloc(void** memory, std::size_t bytes) {
  const std::lock_guard guard(cuda_emulation::lock());
  if (cudaMalloc(memory, bytes) != cudaSuccess) return ncclUnhandledCudaError;
  state().memory[static_cast<std::byte*>(*memory)] = bytes;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* memory) {
  const std::lock_guard guard(cuda_emulation::lock());
  auto* first = static_cast<std::byte*>(memory);
  if (state().memory.erase(first) == 0) return misuse(nullptr, "ncclMemFree of what ncclMemAlloc has not given");
  for (const auto& comm : state().communicators)
    for (const auto& [handle, range] : comm->registered)
      if (range.first == first && comm->stage != Stage::aborted) misuse(comm.get(), named(*comm) + ": memory is freed that is still registered");
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(ncclComm_t comm, void* buffer, std::size_t bytes, void** handle) {
  Call call(comm, "ncclCommRegister", true);
  if (call.allowed() != ncclSuccess) return call.allowed();
  comm->registered[buffer] = {static_cast<std::byte*>(buffer), bytes};
  *handle = buffer;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t comm, void* handle) {
  Call call(comm, "ncclCommDeregister", false);
  if (call.allowed() != ncclSuccess) return call.allowed();
  if (!comm->running.empty() || !comm->waiting.empty())
    return misuse(comm, named(*comm) + ": a buffer is deregistered with operations that are not through");
  return comm->registered.erase(handle) == 1 ? ncclSuccess : misuse(comm, named(*comm) + ": that buffer is not registered");
}
