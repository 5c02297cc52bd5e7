#include "comm/launcher.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"

namespace lynxkv::comm {
namespace {

Launcher with(std::map<std::string, std::string> variables) {
  return find_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

bool refused(const Launcher& launcher, int world_size) {
  try {
    refuse_lonely_task(launcher, world_size);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("--mpi=pmix"), std::string::npos);
    return true;
  }
}

TEST(Launcher, IsAbsentForAProcessThatStandsAlone) {
  const Launcher launcher = with({});
  EXPECT_FALSE(launcher.present);
  EXPECT_FALSE(refused(launcher, 1));
}

TEST(Launcher, IsFoundByEachOfItsVariables) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"}) {
    const Launcher launcher = with({{name, "1"}});
    EXPECT_TRUE(launcher.present) << name;
    EXPECT_EQ(launcher.variable, name);
  }
}

TEST(Launcher, WithoutPmiUnderSrunIsRefused) {
  EXPECT_TRUE(refused(with({{"SLURM_STEP_NUM_TASKS", "2"}}), 1));
}

TEST(Launcher, WithPmiThatMpiDoesNotUnderstandIsRefused) {
  EXPECT_TRUE(refused(with({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "0"}}), 1));
  EXPECT_FALSE(refused(with({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "0"}}), 2));
}

TEST(Launcher, MpirunInsideAnAllocationIsTaken) {
  EXPECT_FALSE(refused(with({{"SLURM_STEP_NUM_TASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), 1));
}

TEST(Launcher, AStepOfOneTaskIsTaken) {
  EXPECT_FALSE(refused(with({{"SLURM_STEP_NUM_TASKS", "1"}}), 1));
}

}  // namespace
}  // namespace lynxkv::comm
