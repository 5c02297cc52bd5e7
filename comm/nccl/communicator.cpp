#include "comm/nccl/communicator.hpp"

#include <nccl.h>

#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lynxkv::comm::nccl {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(UniqueId));

[[noreturn]] void fail(const std::string& where, const char* call, ncclResult_t result, ncclComm_t comm) {
  std::string text = ncclGetErrorString(result);
  if (const char* more = ncclGetLastError(comm); more != nullptr && *more != '\0') text += std::string(" (") + more + ")";
  throw Error(ErrorCode::transport, where,
              std::string(call) + ": " + text + "; NCCL_DEBUG=WARN tells more. Run the same command again, nothing finished is lost");
}

}  // namespace

UniqueId make_unique_id() {
  ncclUniqueId id;
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) fail("NCCL", "ncclGetUniqueId", result, nullptr);
  UniqueId bytes;
  std::memcpy(bytes.data(), &id, bytes.size());
  return bytes;
}

Communicator::Communicator(const UniqueId& id, int rank, const Terms& terms) : name_(terms.name) {
  ncclUniqueId raw_id;
  std::memcpy(&raw_id, id.data(), id.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.minCTAs = 1;
  config.maxCTAs = terms.channels;
  config.splitShare = 0;
  config.commName = name_.c_str();
  if (terms.traffic_class >= 0) config.trafficClass = terms.traffic_class;
  check(ncclCommInitRankConfig(&raw_, 2, raw_id, rank, &config), "ncclCommInitRankConfig");
}

void Communicator::check(int result, const char* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  fail("NCCL, " + name_, call, static_cast<ncclResult_t>(result), raw_);
}

bool Communicator::settled() {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(raw_, &state), "ncclCommGetAsyncError");
  check(state, "asynchronous error");
  return state != ncclInProgress;
}

void Communicator::send(const std::byte* device, std::size_t bytes, CUstream_st* stream) {
  check(ncclGroupStart(), "ncclGroupStart");
  const ncclResult_t result = ncclSend(device, bytes, ncclUint8, 1, raw_, stream);
  const ncclResult_t grouped = ncclGroupEnd();
  check(result, "ncclSend");
  check(grouped, "ncclGroupEnd of a send");
}

void Communicator::receive(std::byte* device, std::size_t bytes, CUstream_st* stream) {
  check(ncclGroupStart(), "ncclGroupStart");
  const ncclResult_t result = ncclRecv(device, bytes, ncclUint8, 0, raw_, stream);
  const ncclResult_t grouped = ncclGroupEnd();
  check(result, "ncclRecv");
  check(grouped, "ncclGroupEnd of a receive");
}

void Communicator::register_memory(std::byte* device, std::size_t bytes) {
  check(ncclCommRegister(raw_, device, bytes, &registered_), "ncclCommRegister");
}

void Communicator::begin_end() {
  if (registered_ != nullptr) check(ncclCommDeregister(raw_, std::exchange(registered_, nullptr)), "ncclCommDeregister");
  check(ncclCommFinalize(raw_), "ncclCommFinalize");
}

void Communicator::end() { check(ncclCommDestroy(std::exchange(raw_, nullptr)), "ncclCommDestroy"); }

void Communicator::abort() noexcept {
  if (raw_ != nullptr) (void)ncclCommAbort(std::exchange(raw_, nullptr));
}

void NcclMemoryTraits::close(type memory) noexcept { (void)ncclMemFree(memory); }

NcclMemory make_nccl_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (const ncclResult_t result = ncclMemAlloc(&memory, bytes); result != ncclSuccess) fail("NCCL", "ncclMemAlloc", result, nullptr);
  return NcclMemory(static_cast<std::byte*>(memory));
}

}  // namespace lynxkv::comm::nccl
