// A run that was asked to stop: how long it may go on.
#include "engine/stop_guard.hpp"

#include <gtest/gtest.h>

namespace lynxkv::engine {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(StopPatience, IsNeverOverBeforeAnybodyAskedToStop) {
  StopPatience patience(8);
  for (int at = 0; at < 100; ++at) EXPECT_FALSE(patience.over(at * second));
}

TEST(StopPatience, IsOverOnceNothingMovedForTheGrace) {
  StopPatience patience(8);
  patience.stop(100 * second);
  for (int at = 100; at <= 108; ++at) EXPECT_FALSE(patience.over(at * second)) << at;
  EXPECT_TRUE(patience.over(108 * second + 1));
}

TEST(StopPatience, LastsForAsLongAsSomethingMoves) {
  StopPatience patience(8);
  patience.stop(0);
  for (int at = 0; at < 1000; ++at) {
    EXPECT_FALSE(patience.over(at * second)) << at;
    if (at % 5 == 0) patience.moved(at * second);
  }
}

TEST(StopPatience, IsNotProlongedByBeingAskedAgain) {
  StopPatience patience(8);
  bool over = false;
  for (int at = 0; at <= 9; ++at) {
    patience.stop(at * second);
    over = patience.over(at * second);
  }
  EXPECT_TRUE(over);
}

TEST(StopPatience, DoesNotCountTimeInWhichTheProcessWasSuspended) {
  StopPatience patience(8);
  patience.stop(0);
  EXPECT_FALSE(patience.over(3600 * second));
  for (int at = 3600; at <= 3608; ++at) EXPECT_FALSE(patience.over(at * second)) << at;
  EXPECT_TRUE(patience.over(3609 * second));
}

TEST(StopPatience, IsNotBlindAfterASuspensionDuringWhichSomethingHadMovedLast) {
  StopPatience patience(8);
  patience.stop(0);
  patience.moved(3600 * second);  // awake again, and at work before anybody asks
  for (int at = 3600; at <= 3608; ++at) EXPECT_FALSE(patience.over(at * second)) << at;
  EXPECT_TRUE(patience.over(3609 * second));
}

TEST(StopPatience, WaitsLongerWhereMoreIsAllowed) {
  StopPatience patience(8);
  patience.stop(0);
  patience.allow(60, 0);
  for (int at = 0; at <= 60; ++at) EXPECT_FALSE(patience.over(at * second)) << at;
  EXPECT_TRUE(patience.over(61 * second));
}

}  // namespace
}  // namespace lynxkv::engine
