#include "tests/cuda_emulation/nccl_double/double/state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/cuda_emulation/emulator/state.hpp"

namespace nccl_double {
namespace {

Setup setup_of_environment() {
  Setup setup;
  if (const char* seed = std::getenv("NCCL_DOUBLE_SEED")) setup.seed = std::strtoull(seed, nullptr, 10);
  return setup;
}

// A program that ends with something wrong, or with communicators that live, leaves with a code of its own.
struct Holder {
  std::unique_ptr<State> only;
  ~Holder() {
    if (!only) return;
    const std::vector<std::string> leaks = take_leaks();
    for (const std::string& leak : leaks) std::fprintf(stderr, "NCCL double: never destroyed: %s\n", leak.c_str());
    if (!leaks.empty() || !only->misuse.empty()) _exit(99);
  }
};

Holder& holder() {
  cuda_emulation::state();  // made first, so that it goes last
  static Holder the;
  return the;
}

bool is_over(const ncclComm& comm) { return comm.stage == Stage::destroyed || comm.stage == Stage::aborted; }

}  // namespace

State& state() {
  Holder& the = holder();
  if (!the.only) the.only = std::make_unique<State>(setup_of_environment());
  return *the.only;
}

const char* name_of(Stage stage) {
  constexpr const char* names[] = {"joining", "alive", "finalising", "finalised", "destroyed", "aborted"};
  return names[static_cast<int>(stage)];
}

std::string named(const ncclComm& comm) { return "communicator '" + comm.name + "' of rank " + std::to_string(comm.rank); }

ncclResult_t misuse(ncclComm* comm, const std::string& what) {
  std::fprintf(stderr, "NCCL double: %s\n", what.c_str());
  state().misuse.push_back(what);
  state().last_error = what;
  if (comm != nullptr && comm->error == ncclSuccess) comm->error = ncclInvalidUsage;
  return ncclInvalidUsage;
}

void reset(const Setup& setup) {
  const std::lock_guard guard(cuda_emulation::lock());
  holder().only = std::make_unique<State>(setup);
}

std::vector<std::string> take_misuse() {
  const std::lock_guard guard(cuda_emulation::lock());
  return std::exchange(state().misuse, {});
}

std::vector<std::string> take_leaks() {
  const std::lock_guard guard(cuda_emulation::lock());
  std::vector<std::string> names;
  for (const auto& comm : state().communicators) {
    if (is_over(*comm)) continue;
    names.push_back(named(*comm));
    drop_everything(*comm);
    comm->stage = Stage::aborted;
  }
  return names;
}

void fail(const std::string& part, ncclResult_t result) {
  const std::lock_guard guard(cuda_emulation::lock());
  state().failing[part] = result;
}

std::vector<CommunicatorInfo> communicators() {
  const std::lock_guard guard(cuda_emulation::lock());
  std::vector<CommunicatorInfo> infos;
  for (const auto& comm : state().communicators) {
    CommunicatorInfo info{comm->name, comm->rank, comm->ranks, comm->config.trafficClass, comm->config.maxCTAs,
                          comm->config.blocking != 0, name_of(comm->stage), 0, 0, comm->registered.size(), comm->stream_priority};
    for (int peer = 0; peer < most_ranks; ++peer) {
      info.sends += comm->sends[peer];
      info.receives += comm->receives[peer];
    }
    infos.push_back(info);
  }
  return infos;
}

}  // namespace nccl_double
