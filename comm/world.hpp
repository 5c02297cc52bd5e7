// The job's ranks before and beside the courier: MPI start and end, gathering of small texts at set-up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/nccl.hpp"
#include "comm/transport.hpp"

namespace lynxkv::comm {

// Started once per process. A world of one needs no launcher and no MPI call.
class World {
 public:
  // Starts MPI where a launcher's variables are present (or `force_mpi`), else stands alone.
  // Throws Error{usage} for a process that Slurm started as one of many without PMI (it would believe that it
  // is rank 0 of 1).
  explicit World(bool force_mpi = false);
  // Leaves together with the other ranks. Where they do not come (after an error, within seconds), the job ends when
  // this process exits: its peers with it, with its exit code.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const noexcept;
  int size() const noexcept;
  bool uses_mpi() const noexcept;
  std::string host() const;

  // Each rank's text, by rank. Collective. At most 1 MiB each.
  std::vector<std::string> gather(const std::string& mine) const;
  void barrier() const;

  // The transport that moves data between these ranks: "mpi" or "nccl" (where uses_mpi()), or "loop" (a world of one
  // only). `nccl` is for that one alone: which ranks send data to which, where that is known, and more.
  // Collective. Throws Error{usage} for a name that does not fit, and for "nccl" where a rank has no GPU of its own.
  std::unique_ptr<Transport> make_transport(std::string_view name, const NcclOptions& nccl = {});

  // Ends the whole job at once, peers included.
  [[noreturn]] void abort(int exit_code) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lynxkv::comm
