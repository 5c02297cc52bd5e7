// A call on a communicator: who may make it, and when.
#pragma once

#include <mutex>

#include "tests/cuda_emulation/nccl_double/double/state.hpp"

namespace nccl_double {

// For as long as it lives the calling thread is inside the communicator and holds the emulation's lock.
class Call {
 public:
  // `settled`: the call may not be made while an earlier one is in progress.
  Call(ncclComm_t comm, const char* name, bool settled);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Success, or why the call may not go on.
  ncclResult_t allowed() const noexcept { return allowed_; }
  // Lets other threads on for a moment.
  void breathe();

 private:
  ncclResult_t look(const char* name, bool settled);
  ncclComm_t comm_;
  bool entered_ = false;
  ncclResult_t allowed_ = ncclSuccess;
  std::unique_lock<std::recursive_mutex> guard_;
};

// What ncclCommGetAsyncError says.
ncclResult_t state_of(ncclComm& comm);

}  // namespace nccl_double
