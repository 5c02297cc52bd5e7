#include "tests/cuda_emulation/nccl_double/double/call.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "tests/cuda_emulation/emulator/state.hpp"

namespace nccl_double {

Call::Call(ncclComm_t comm, const char* name, bool settled) : comm_(comm), guard_(cuda_emulation::lock()) {
  const auto& known = state().communicators;
  if (std::none_of(known.begin(), known.end(), [&](const auto& one) { return one.get() == comm; })) {
    allowed_ = misuse(nullptr, std::string(name) + " of a communicator that does not exist");
    return;
  }
  std::thread::id nobody{};
  entered_ = comm->inside.compare_exchange_strong(nobody, std::this_thread::get_id());
  if (!entered_) {
    allowed_ = misuse(nullptr, std::string(name) + " of " + named(*comm) + " while another thread is inside it");
    return;
  }
  if (state().setup.dwell_us > 0) {
    guard_.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(state().setup.dwell_us));
    guard_.lock();
  }
  allowed_ = look(name, settled);
}

Call::~Call() {
  if (entered_) comm_->inside = std::thread::id{};
}

void Call::breathe() {
  guard_.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  guard_.lock();
}

ncclResult_t Call::look(const char* name, bool settled) {
  if (comm_->stage == Stage::aborted || comm_->stage == Stage::destroyed)
    return misuse(nullptr, std::string(name) + " of " + named(*comm_) + ", which is " + name_of(comm_->stage));
  if (!settled) return ncclSuccess;
  if (comm_->error != ncclSuccess) return comm_->error;
  if (comm_->stage != Stage::alive || !comm_->waiting.empty())
    return misuse(comm_, std::string(name) + " of " + named(*comm_) + " before the call that is in progress has ended");
  return ncclSuccess;
}

namespace {

bool is_gone(const Member& member) { return member.joined != 0 && kill(member.pid, 0) != 0 && errno == ESRCH; }

// What the other ranks do shows as an error here.
void look_at_peers(ncclComm& comm) {
  const Shared& shared = **comm.segment;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    const Member& member = shared.members[rank];
    const bool gone = comm.looks % 64 == 0 && member.left == 0 && is_gone(member);
    if (rank != comm.rank && (member.aborted != 0 || gone) && comm.error == ncclSuccess) comm.error = ncclRemoteError;
  }
  ++comm.looks;
  for (const auto& [part, result] : state().failing)
    if (comm.name.find(part) != std::string::npos && comm.error == ncclSuccess) comm.error = result;
}

// Everyone has come, and no two on one GPU.
bool try_to_join(ncclComm& comm) {
  const Shared& shared = **comm.segment;
  for (int rank = 0; rank < comm.ranks; ++rank)
    if (shared.members[rank].joined == 0) return false;
  for (int one = 0; one < comm.ranks; ++one)
    for (int two = 0; two < one; ++two)
      if (std::string(shared.members[one].bus) == shared.members[two].bus) {
        comm.error = ncclInvalidUsage;
        state().last_error = "duplicate GPU: ranks " + std::to_string(two) + " and " + std::to_string(one) + " both on " + shared.members[one].bus;
        return false;
      }
  comm.segment->forget_name();
  comm.stage = Stage::alive;
  return true;
}

bool try_to_finalise(ncclComm& comm) {
  if (!comm.running.empty()) return false;
  Shared& shared = **comm.segment;
  shared.members[comm.rank].finalised = 1;
  for (int rank = 0; rank < comm.ranks; ++rank)
    if (shared.members[rank].finalised == 0) return false;
  comm.stage = Stage::finalised;
  return true;
}

}  // namespace

ncclResult_t state_of(ncclComm& comm) {
  look_at_peers(comm);
  if (comm.error != ncclSuccess) return comm.error;
  if (comm.stage == Stage::joining || comm.stage == Stage::finalising) {
    if (comm.rests > 0) {
      --comm.rests;
      return ncclInProgress;
    }
    const bool done = comm.stage == Stage::joining ? try_to_join(comm) : try_to_finalise(comm);
    if (comm.error != ncclSuccess) return comm.error;
    return done ? ncclSuccess : ncclInProgress;
  }
  return try_to_launch(comm) ? ncclSuccess : ncclInProgress;
}

}  // namespace nccl_double
