#include "comm/launcher.hpp"

#include <cstdlib>

#include "base/error.hpp"

namespace lynxkv::comm {
namespace {

// Set by mpirun, by srun with a PMI plugin, or by a PMI server, for each rank.
constexpr const char* rank_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK",       "PMI_RANK",
                                          "PMI_FD",               "MPI_LOCALRANKID", "MV2_COMM_WORLD_RANK"};
constexpr const char* own_rank_variables[] = {"OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID"};

}  // namespace

Launcher find_launcher(const Environment& environment) {
  Launcher launcher;
  for (const char* name : rank_variables)
    if (environment(name) != nullptr) {
      launcher.present = true;
      launcher.variable = name;
      break;
    }
  for (const char* name : own_rank_variables) launcher.own_ranks |= environment(name) != nullptr;
  if (const char* tasks = environment("SLURM_STEP_NUM_TASKS"); tasks != nullptr) launcher.slurm_tasks = std::atoi(tasks);
  return launcher;
}

void refuse_lonely_task(const Launcher& launcher, int world_size) {
  if (world_size != 1 || launcher.slurm_tasks <= 1 || launcher.own_ranks) return;
  const std::string tasks = std::to_string(launcher.slurm_tasks);
  throw Error(ErrorCode::usage, "srun",
              "started " + tasks + " tasks, but " +
                  (launcher.present ? "this MPI does not understand the PMI it offers" : "offers no PMI") +
                  ", so each of them would be rank 0 of 1; start with srun --mpi=pmix (srun --mpi=list shows what "
                  "there is), or with mpirun inside the allocation");
}

}  // namespace lynxkv::comm
