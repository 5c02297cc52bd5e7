#include "kernels/runtime.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "kernels/cpu/team_cores.hpp"
#include "kernels/parallel.hpp"
#include "kernels/placement.hpp"
#include "tests/kernels/paths.hpp"

namespace lynxkv::kernels {
namespace {

// The first start decides how many threads there can be; codec tests in this binary start with fewer.
class StartWithAllThreads : public ::testing::Environment {
  void SetUp() override { start_runtime(testing::test_threads, best_isa()); }
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new StartWithAllThreads);

TEST(Runtime, RunsEveryTaskOnceOnKnownWorkers) {
  ASSERT_NE(environment, nullptr);
  for (const int tasks : {0, 1, 2, 3, 31, 257}) {
    std::vector<std::atomic<int>> ran(static_cast<std::size_t>(tasks));
    std::atomic<int> strangers{0};
    parallel_for(tasks, [&](int task, int worker) {
      ++ran[static_cast<std::size_t>(task)];
      if (worker < 0 || worker >= runtime_threads()) ++strangers;
    });
    for (const auto& times : ran) EXPECT_EQ(times, 1);
    EXPECT_EQ(strangers, 0);
  }
}

TEST(Runtime, LeavesShortWorkToTheThreadThatAsksForIt) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> here{0}, elsewhere{0};
  const auto count = [&](int, int) { ++(std::this_thread::get_id() == caller ? here : elsewhere); };
  parallel_for(8, 1000, 1000, count);  // a microsecond
  EXPECT_EQ(here, 8);
  EXPECT_EQ(elsewhere, 0);
  std::atomic<int> started{0};
  parallel_for(2, 1'000'000, 1000, [&](int, int) {  // a millisecond: both tasks are under way at once
    ++started;
    for (int i = 0; i < 1000 && started < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(started, 2);
}

TEST(Runtime, RunsNestedTasksInPlace) {
  std::atomic<int> ran{0};
  parallel_for(4, [&](int, int) { parallel_for(5, [&](int, int) { ++ran; }); });
  EXPECT_EQ(ran, 20);
}

TEST(Runtime, LetsAnotherThreadComputeAloneAtTheSameTime) {
  std::atomic<int> ran{0};
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) parallel_for(7, [&](int, int worker) { ran += worker == 0 ? 1 : 1000000; });
  });
  std::atomic<int> here{0};
  for (int i = 0; i < 200; ++i) parallel_for(7, [&](int, int) { ++here; });
  other.join();
  EXPECT_EQ(ran, 1400);
  EXPECT_EQ(here, 1400);
}

TEST(Runtime, CanLowerTheThreadsButNotRaiseThemPastTheStart) {
  start_runtime(1, best_isa());
  EXPECT_EQ(runtime_threads(), 1);
  EXPECT_THROW(start_runtime(testing::test_threads + 1, best_isa()), Error);
  start_runtime(testing::test_threads, best_isa());
  EXPECT_EQ(runtime_threads(), testing::test_threads);
}

// The cores that the calling thread may use.
std::vector<int> my_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

TEST(Placement, GivesEachThreadOfATeamACoreWhereThereAreAsManyOfBoth) {
  const std::vector<int> before = my_cores();
  constexpr int threads = 2;
  if (static_cast<int>(before.size()) < threads) GTEST_SKIP() << "there is one core only";
  start_runtime(threads, best_isa());
  cpu_set_t few;
  CPU_ZERO(&few);
  for (int i = 0; i < threads; ++i) CPU_SET(before[static_cast<std::size_t>(i)], &few);
  ASSERT_EQ(sched_setaffinity(0, sizeof few, &few), 0);
  choose_team_cores(threads);
  ASSERT_EQ(team_cores().size(), static_cast<std::size_t>(threads));
  std::vector<std::vector<int>> seen(static_cast<std::size_t>(threads));
  {
    const KeepToOneCore keep;
    std::atomic<int> arrived{0};
    parallel_for(threads, [&](int, int worker) {
      seen[static_cast<std::size_t>(worker)] = my_cores();
      ++arrived;
      while (arrived < threads) std::this_thread::yield();  // nobody takes two
    });
  }
  std::set<int> used;
  for (const auto& cores : seen) {
    ASSERT_EQ(cores.size(), 1u);
    used.insert(cores.front());
  }
  EXPECT_EQ(used.size(), static_cast<std::size_t>(threads));
  EXPECT_EQ(my_cores().size(), static_cast<std::size_t>(threads)) << "the home thread is free again";
  choose_team_cores(1);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int core : before) CPU_SET(core, &all);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  start_runtime(testing::test_threads, best_isa());
}

TEST(Placement, LeavesThreadsAloneWhereThereAreMoreCoresThanThreads) {
  choose_team_cores(static_cast<int>(my_cores().size()) + 1);
  EXPECT_TRUE(team_cores().empty());
  choose_team_cores(1);
  EXPECT_TRUE(team_cores().empty());
  const std::vector<int> before = my_cores();
  const KeepToOneCore keep;
  EXPECT_EQ(my_cores(), before);
}

TEST(Runtime, NamesThePaths) {
  EXPECT_EQ(name_of(Isa::amx), "amx");
  EXPECT_EQ(name_of(Isa::avx512_bf16), "avx512_bf16");
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
  EXPECT_EQ(name_of(Isa::avx2), "avx2");
}

}  // namespace
}  // namespace lynxkv::kernels
