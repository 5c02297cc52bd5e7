// Everything behind the double in one process. All of it is touched under the emulation's lock.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_emulation/nccl_double/double/segment.hpp"
#include "tests/cuda_emulation/nccl_double/nccl_double.hpp"

namespace nccl_double {

struct Operation {
  bool sends;
  int peer;
  std::byte* buffer;
  std::size_t bytes;
  ncclDataType_t type;
  std::uint64_t number;  // on its pair, from 1
  std::size_t moved = 0;
  bool posted = false, checked = false, through = false;
};

// The operations of one communicator in one group: they run together, in the stream, once they are launched.
struct Launch {
  std::vector<Operation> operations;
  cudaStream_t stream = nullptr;
  bool started = false, dropped = false;
};

enum class Stage { joining, alive, finalising, finalised, destroyed, aborted };

}  // namespace nccl_double

struct ncclComm {
  std::string name;
  int rank = 0, ranks = 0;
  ncclConfig_t config{};
  std::unique_ptr<nccl_double::Segment> segment;
  nccl_double::Stage stage = nccl_double::Stage::joining;
  ncclResult_t error = ncclSuccess;                          // stays, as the real one's does
  int rests = 0;                                             // looks until what is in progress may end
  std::deque<std::shared_ptr<nccl_double::Launch>> waiting;  // called, not in a stream yet
  std::deque<std::shared_ptr<nccl_double::Launch>> running;  // in streams
  std::uint64_t sends[nccl_double::most_ranks] = {}, receives[nccl_double::most_ranks] = {};
  std::map<void*, std::pair<std::byte*, std::size_t>> registered;  // by handle
  std::atomic<std::thread::id> inside{};
  unsigned looks = 0;
  int stream_priority = 0;
  bool order_reported = false;
};

namespace nccl_double {

struct State {
  explicit State(const Setup& given) : setup(given), draw(given.seed) {}
  Setup setup;
  std::mt19937_64 draw;
  std::vector<std::unique_ptr<ncclComm>> communicators;
  std::map<std::byte*, std::size_t> memory;  // of ncclMemAlloc
  std::vector<std::string> misuse;
  std::map<std::string, ncclResult_t> failing;
  std::string last_error;
};
State& state();

// Notes what was done wrong, and says it on stderr. The communicator, where there is one, fails with ncclInvalidUsage.
ncclResult_t misuse(ncclComm* comm, const std::string& what);
std::string named(const ncclComm& comm);
const char* name_of(Stage stage);

// Transfers (transfer.cpp).
// Puts what waits into its stream, once the ranks have met. True when nothing waits any more.
bool try_to_launch(ncclComm& comm);
void drop_everything(ncclComm& comm);

}  // namespace nccl_double
