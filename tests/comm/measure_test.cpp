// The measurements of `bench link`, over the loop: who sends to whom, that all comes, and that damage is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "comm/loop.hpp"
#include "comm/measure_priority.hpp"
#include "comm/measure_transfer.hpp"
#include "tests/comm/rig.hpp"

namespace lynxkv::comm {
namespace {

void on_link_ends(int ranks, const LinkOptions& options, const std::function<void(LinkEnds)>& body) {
  auto raws = make_loop(ranks);
  std::mutex mutex;
  on_each_rank(ranks, options, [&](Courier& courier) {
    std::unique_ptr<Transport> mine;
    {
      const std::lock_guard lock(mutex);
      mine = std::move(raws[static_cast<std::size_t>(courier.rank())]);
    }
    const auto raw = make_raw_link(std::move(mine));
    body({courier, *raw});
  });
}

TEST(Patterns, SayWhoSendsToWhomAndHowMuchTheBusiestPortCarries) {
  EXPECT_EQ(flows_of(Pattern::one_way, 4).size(), 1u);
  EXPECT_EQ(flows_of(Pattern::both_ways, 4).size(), 2u);
  EXPECT_EQ(flows_of(Pattern::pairs, 5).size(), 2u);
  EXPECT_EQ(flows_of(Pattern::incast, 4).size(), 3u);
  EXPECT_EQ(flows_of(Pattern::all_to_all, 4).size(), 12u);
  EXPECT_EQ(busiest_port(flows_of(Pattern::both_ways, 4), 4), 1);
  EXPECT_EQ(busiest_port(flows_of(Pattern::incast, 4), 4), 3);
  EXPECT_EQ(busiest_port(flows_of(Pattern::all_to_all, 4), 4), 3);
}

TEST(PatternBytes, TellEverySenderReceiverNumberAndPlaceApart) {
  std::vector<std::byte> bytes(1001);
  fill_pattern(bytes, 1, 2, 3);
  EXPECT_TRUE(is_pattern(bytes, 1, 2, 3));
  EXPECT_FALSE(is_pattern(bytes, 2, 1, 3));
  EXPECT_FALSE(is_pattern(bytes, 1, 2, 4));
  bytes[1000] ^= std::byte{1};
  EXPECT_FALSE(is_pattern(bytes, 1, 2, 3));
}

TEST(Transfers, OfAllPatternsAndSizesComeWhole) {
  on_link_ends(4, test_options(), [](LinkEnds ends) {
    for (const Pattern pattern : all_patterns)
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, std::size_t{65'000}, std::size_t{1'000'000}})
        for (const Channel channel : {Channel::anchor, Channel::residual}) {
          std::uint64_t wrong = 0;
          const auto flows = flows_of(pattern, 4);
          EXPECT_GT(time_transfer(ends, flows, {channel, bytes, 3}, true, wrong), 0);
          EXPECT_GT(time_transfer(ends, flows, {channel, bytes, 3}, false, wrong), 0);
          EXPECT_GT(time_raw_transfer(ends, flows, {channel, bytes, 3}), 0);
          EXPECT_EQ(wrong, 0u);
        }
  });
}

TEST(Transfers, OfAnEmulatedLinkTakeTheirTime) {
  LinkOptions options = test_options();
  options.gbps = 1;
  on_link_ends(2, options, [](LinkEnds ends) {
    std::uint64_t wrong = 0;
    const auto flows = flows_of(Pattern::one_way, 2);
    const double seconds = time_transfer(ends, flows, {Channel::anchor, 125'000, 100}, false, wrong);  // 0.1 s
    EXPECT_GT(seconds, 0.099);
  });
}

TEST(RawTransfers, BesideAnEmulatedLinkAreItsArithmetic) {
  LinkOptions options = test_options();
  options.gbps = 1;
  options.latency_us = 500;
  on_link_ends(4, options, [&](LinkEnds ends) {
    ends.emulated = {options.gbps, options.latency_us};
    const double one_s = 125'000 * 8e-9;
    const TransferLoad load{Channel::anchor, 125'000, 10};
    EXPECT_DOUBLE_EQ(time_raw_transfer(ends, flows_of(Pattern::one_way, 4), load), 500e-6 + 10 * one_s);
    EXPECT_DOUBLE_EQ(time_raw_transfer(ends, flows_of(Pattern::both_ways, 4), load), 500e-6 + 10 * one_s);
    EXPECT_DOUBLE_EQ(time_raw_transfer(ends, flows_of(Pattern::incast, 4), load), 500e-6 + 30 * one_s);
    const auto trips = time_raw_round_trips(ends, 125'000, 3);
    ASSERT_EQ(trips.size(), ends.raw.rank() == 0 ? 3u : 0u);
    for (const double seconds : trips) EXPECT_DOUBLE_EQ(seconds, 500e-6 + one_s);
  });
}

TEST(RawTransfers, HaveAnEmulatedLatencyAddedWhereTheRateIsTheRealOne) {
  on_link_ends(2, test_options(), [&](LinkEnds ends) {
    ends.emulated = {0, 20'000};
    EXPECT_GE(time_raw_transfer(ends, flows_of(Pattern::one_way, 2), {Channel::anchor, 1000, 2}), 0.02);
    for (const double seconds : time_raw_round_trips(ends, 1000, 2)) EXPECT_GE(seconds, 0.02);
  });
}

TEST(RawTransfers, KeepAWindowOfMessagesUnderWayWhereThereIsMoreThanOneFlow) {
  const auto window = [](Pattern pattern, std::size_t bytes) { return raw_window(flows_of(pattern, 4), 4, bytes); };
  EXPECT_EQ(window(Pattern::one_way, 1), 1);
  EXPECT_EQ(window(Pattern::one_way, 1 << 20), 1);
  for (const Pattern pattern : {Pattern::both_ways, Pattern::pairs, Pattern::incast, Pattern::all_to_all}) {
    EXPECT_EQ(window(pattern, 1024), 64) << name_of(pattern);
    EXPECT_EQ(window(pattern, std::size_t{1} << 30), 2) << name_of(pattern);
    const int port = busiest_port(flows_of(pattern, 4), 4);
    EXPECT_LE(window(pattern, 1 << 20) * port, 8) << name_of(pattern);
  }
}

TEST(UrgentMessages, OfAnEmulatedLinkAreComparedWithThatLink) {
  LinkOptions options = test_options();
  options.gbps = 1;
  on_link_ends(2, options, [&](LinkEnds ends) {
    ends.emulated = {options.gbps, options.latency_us};
    PriorityLoad load;
    load.urgent = 20;
    load.rounds = 2;
    load.interval_s = 0.005;
    const PriorityTimes times = measure_priority(ends, load);
    EXPECT_NEAR(times.raw_seconds, static_cast<double>(times.bytes) * 8e-9, 1e-9);
    EXPECT_DOUBLE_EQ(times.chunk_s, static_cast<double>(times.chunk_bytes) * 8e-9);
    EXPECT_LE(times.raw_seconds, times.seconds * 1.02);
  });
}

TEST(RoundTrips, AreTimedOneByOne) {
  on_link_ends(3, test_options(), [](LinkEnds ends) {
    const auto mine = time_round_trips(ends, {Channel::anchor, 100'000, 5});
    const auto raw = time_raw_round_trips(ends, 100'000, 5);
    EXPECT_EQ(mine.size(), ends.raw.rank() == 0 ? 5u : 0u);
    EXPECT_EQ(raw.size(), mine.size());
    for (const double seconds : mine) EXPECT_GT(seconds, 0);
  });
}

TEST(UrgentMessages, AreAllCountedUnderBulkAndOnTheIdleLink) {
  on_link_ends(3, test_options(), [](LinkEnds ends) {
    PriorityLoad load;
    load.urgent = 20;
    load.rounds = 2;
    load.interval_s = 0.002;
    const PriorityTimes times = measure_priority(ends, load);
    EXPECT_EQ(times.loaded_s.size(), 20u);
    EXPECT_EQ(times.idle_s.size(), 20u);
    EXPECT_EQ(times.shares.size(), 2u);
    EXPECT_EQ(times.wrong, 0u);
    EXPECT_GT(times.bytes, times.urgent_bytes);
    EXPECT_EQ(times.urgent_bytes, 20u * load.urgent_bytes);
  });
}

}  // namespace
}  // namespace lynxkv::comm
