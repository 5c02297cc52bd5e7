// Which launcher started this process, as far as its environment tells.
#pragma once

#include <functional>
#include <string>

namespace lynxkv::comm {

// Value of an environment variable, or null. std::getenv fits.
using Environment = std::function<const char*(const char*)>;

struct Launcher {
  bool present = false;  // MPI has peers to find: start it
  std::string variable;  // the first variable that says so
  int slurm_tasks = 0;   // of the Slurm step that this process belongs to; 0 outside Slurm
  bool own_ranks = false;  // mpirun gave the ranks, whatever Slurm's step has (mpirun inside sbatch)
};

Launcher find_launcher(const Environment& environment);

// Throws Error{usage} where Slurm started several tasks and this one would still be alone: every one of them would
// believe that it is rank 0 of 1.
void refuse_lonely_task(const Launcher& launcher, int world_size);

}  // namespace lynxkv::comm
