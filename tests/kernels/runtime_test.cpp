#include "kernels/runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "kernels/parallel.hpp"
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

TEST(Runtime, NamesThePaths) {
  EXPECT_EQ(name_of(Isa::amx), "amx");
  EXPECT_EQ(name_of(Isa::avx512_bf16), "avx512_bf16");
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
  EXPECT_EQ(name_of(Isa::avx2), "avx2");
}

}  // namespace
}  // namespace lynxkv::kernels
