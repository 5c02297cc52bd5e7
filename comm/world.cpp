#include "comm/world.hpp"

#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/launcher.hpp"
#include "comm/loop.hpp"
#include "comm/mpi.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::size_t gather_limit_bytes = std::size_t{1} << 20;
// A rank may load a large model from a slow disk while the others wait here.
constexpr double together_seconds = 1800;
// While an error unwinds: long enough for ranks that met the same error, short where the others go on.
constexpr double together_after_error_seconds = 5;

// Waits for a nonblocking collective without spinning: ranks may share cores. False once the time is up.
bool wait_for(MPI_Request& request, const char* call, double seconds) {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  for (auto nap = std::chrono::microseconds(50);;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return true;
    if (now_ns() > until) return false;
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(2000));
  }
}

void wait_for_all(MPI_Request& request, const char* call) {
  if (!wait_for(request, call, together_seconds))
    throw Error(ErrorCode::transport, call,
                "not all ranks came within " + std::to_string(static_cast<int>(together_seconds)) + " s");
}

// A rank that leaves without the others takes them with it, under any launcher, once its own message is out.
void abort_at_exit(int exit_code, void*) { MPI_Abort(MPI_COMM_WORLD, exit_code != 0 ? exit_code : 1); }

}  // namespace

struct World::State {
  int rank = 0;
  int size = 1;
  bool uses_mpi = false;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm leaving = MPI_COMM_NULL;  // apart, for a rank may leave while others are still gathering
  int exceptions = std::uncaught_exceptions();
};

World::World(bool force_mpi) : state_(std::make_unique<State>()) {
  const Launcher launcher = find_launcher([](const char* name) { return std::getenv(name); });
  if (!launcher.present) refuse_lonely_task(launcher, 1);
  if (!launcher.present && !force_mpi) return;
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  state_->uses_mpi = true;
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &state_->size), "MPI_Comm_size");
  try {
    if (provided < MPI_THREAD_MULTIPLE)
      throw Error(ErrorCode::usage, "MPI", "does not support MPI_THREAD_MULTIPLE; a build of it with threads is needed");
    refuse_lonely_task(launcher, state_->size);
  } catch (const Error&) {
    MPI_Finalize();  // the same on every rank
    throw;
  }
  for (MPI_Comm* made : {&state_->communicator, &state_->leaving}) {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, made), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
}

World::~World() {
  if (!state_->uses_mpi) return;
  const bool unwinding = std::uncaught_exceptions() > state_->exceptions;
  bool together = false;
  try {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(state_->leaving, &request), "MPI_Ibarrier");
    together = wait_for(request, "MPI_Ibarrier", unwinding ? together_after_error_seconds : together_seconds);
  } catch (const Error& error) {
    log::error("{}", error.what());
  }
  if (!together) {
    log::warning("rank {} leaves without the others: the job ends", state_->rank);
    on_exit(abort_at_exit, nullptr);
    return;
  }
  MPI_Comm_free(&state_->communicator);
  MPI_Comm_free(&state_->leaving);
  MPI_Finalize();
}

int World::rank() const noexcept { return state_->rank; }
int World::size() const noexcept { return state_->size; }
bool World::uses_mpi() const noexcept { return state_->uses_mpi; }

std::string World::host() const {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

std::vector<std::string> World::gather(const std::string& mine) const {
  // The size goes first, and the refusal is every rank's, so that none is left waiting.
  const std::uint64_t bytes = mine.size();
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::uint64_t> sizes(ranks, bytes);
  if (uses_mpi()) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(&bytes, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, state_->communicator, &request),
              "MPI_Iallgather");
    wait_for_all(request, "MPI_Iallgather");
  }
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (sizes[rank] > gather_limit_bytes)
      throw Error(ErrorCode::transport, "rank " + std::to_string(rank),
                  "tells " + std::to_string(sizes[rank]) + " bytes at set-up; at most " +
                      std::to_string(gather_limit_bytes) + " are allowed");
  const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (total > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::transport, "set-up", "all ranks together tell " + std::to_string(total) + " bytes; too much");
  if (!uses_mpi()) return {mine};
  std::vector<int> counts(ranks), offsets(ranks);
  for (std::size_t rank = 0, offset = 0; rank < ranks; offset += sizes[rank++]) {
    counts[rank] = static_cast<int>(sizes[rank]);
    offsets[rank] = static_cast<int>(offset);
  }
  std::string all(total, '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgatherv(mine.data(), static_cast<int>(bytes), MPI_CHAR, all.data(), counts.data(), offsets.data(),
                            MPI_CHAR, state_->communicator, &request),
            "MPI_Iallgatherv");
  wait_for_all(request, "MPI_Iallgatherv");
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[rank]), sizes[rank]));
  return texts;
}

void World::barrier() const {
  if (!uses_mpi()) return;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(state_->communicator, &request), "MPI_Ibarrier");
  wait_for_all(request, "MPI_Ibarrier");
}

std::unique_ptr<Transport> World::make_transport(std::string_view name, const NcclOptions& nccl) {
  if (name == "loop") {
    if (size() > 1)
      throw Error(ErrorCode::usage, "link.transport",
                  "'loop' joins roles inside one process; " + std::to_string(size()) + " ranks need 'mpi'");
    return std::move(make_loop(1).front());
  }
  if (name == "mpi" || name == "nccl") {
    if (!uses_mpi())
      throw Error(ErrorCode::usage, "link.transport",
                  "'" + std::string(name) + "' needs a launcher (mpirun -n 2 lynxkv ...); this process stands alone: use 'loop'");
    if (name == "mpi") return make_mpi();
    return make_nccl(make_mpi(), nccl);
  }
  throw Error(ErrorCode::usage, "link.transport", "'" + std::string(name) + "' is none of: mpi, nccl, loop");
}

void World::abort(int exit_code) const {
  if (uses_mpi()) MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace lynxkv::comm
