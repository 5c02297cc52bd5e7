// The parts of the courier that only compute: pacing, credits, watchdog, clock offsets, its frames.
#include <gtest/gtest.h>

#include "comm/clock_offset.hpp"
#include "comm/courier_frames.hpp"
#include "comm/credits.hpp"
#include "comm/pacing.hpp"
#include "comm/watchdog.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::int64_t ms = 1'000'000;

TEST(Pacing, LetsAMessageLeaveAfterItsTimeOnTheWire) {
  Pacing link(8, 0);  // one byte a nanosecond
  EXPECT_EQ(link.departure(1000, 500), 1500);
}

TEST(Pacing, QueuesMessagesBehindEachOther) {
  Pacing link(8, 0);
  EXPECT_EQ(link.departure(1000, 500), 1500);
  EXPECT_EQ(link.departure(1000, 500), 2000);
  EXPECT_EQ(link.departure(1800, 500), 2500);
}

TEST(Pacing, GivesNoCreditForIdleTime) {
  Pacing link(8, 0);
  EXPECT_EQ(link.departure(0, 100), 100);
  EXPECT_EQ(link.departure(1'000'000, 100), 1'000'100);
  EXPECT_EQ(link.departure(1'000'000, 100), 1'000'200);
}

TEST(Pacing, DeliversAfterTheLatency) {
  Pacing link(8, 50);
  EXPECT_EQ(link.delivery(1'000'000, 100), 1'050'000);
  Pacing latency_only(0, 50);
  EXPECT_EQ(latency_only.delivery(1'000'000, 1 << 30), 1'050'000);
}

TEST(Pacing, DoesNotSlowALoneSenderTwice) {
  Pacing sender(8, 0), receiver(8, 0);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t left = sender.departure(0, 100'000);
    EXPECT_EQ(receiver.delivery(left, 100'000), left);
  }
}

TEST(Pacing, SharesTheReceiversWireAmongItsSenders) {
  Pacing one(8, 0), two(8, 0), receiver(8, 0);
  std::int64_t delivered = 0;
  for (int i = 0; i < 100; ++i) {
    delivered = receiver.delivery(one.departure(0, 100'000), 100'000);
    delivered = receiver.delivery(two.departure(0, 100'000), 100'000);
  }
  EXPECT_EQ(delivered, 200 * 100'000);
}

TEST(Transit, TakesOutWhatThreadsWereLate) {
  Transit transit;
  EXPECT_EQ(transit.arrival_ns(1000, 51'000), 51'000);   // the peer's clock is 50 us behind, or the way is that long
  EXPECT_EQ(transit.arrival_ns(2000, 900'000), 52'000);  // seen late
  EXPECT_EQ(transit.arrival_ns(3000, 43'000), 43'000);   // a shorter way
  EXPECT_EQ(transit.arrival_ns(4000, 900'000), 44'000);
}

TEST(Transit, FollowsAClockThatDriftsAway) {
  Transit transit;
  std::int64_t arrival = 0;
  for (std::int64_t s = 0; s < 100; ++s)  // 100 us a second
    arrival = transit.arrival_ns(s * 1000 * ms, s * 1000 * ms + s * ms / 10);
  EXPECT_LT(99 * 1000 * ms + 99 * ms / 10 - arrival, 12 * ms / 10);
}

TEST(Credits, AllowsOneChunkUntilAReceiptComes) {
  Credits credits(2, 1000, 0, 0);
  EXPECT_TRUE(credits.fits(5000));  // alone
  credits.sent(1, 600, 0);
  EXPECT_TRUE(credits.fits(400));
  EXPECT_FALSE(credits.fits(401));
  credits.sent(0, 400, 0);
  EXPECT_FALSE(credits.fits(1));
  EXPECT_TRUE(credits.acknowledged(1, 1, 10).ok());
  EXPECT_TRUE(credits.fits(600));
  EXPECT_EQ(credits.in_flight_bytes(), 400u);
  EXPECT_EQ(credits.in_flight_bytes(1), 0u);
}

TEST(Credits, TakesReceiptsForSeveralMessagesAtOnce) {
  Credits credits(1, 1000, 0, 0);
  for (int i = 0; i < 3; ++i) credits.sent(0, 100, i);
  EXPECT_TRUE(credits.acknowledged(0, 2, 10).ok());
  EXPECT_TRUE(credits.acknowledged(0, 2, 11).ok());
  EXPECT_EQ(credits.in_flight_bytes(), 100u);
}

TEST(Credits, RefusesReceiptsForWhatWasNeverSent) {
  Credits credits(1, 1000, 0, 0);
  credits.sent(0, 100, 0);
  EXPECT_FALSE(credits.acknowledged(0, 2, 10).ok());
  EXPECT_TRUE(credits.acknowledged(0, 1, 10).ok());
  EXPECT_FALSE(credits.acknowledged(0, 0, 10).ok());
}

TEST(Credits, GrowsToTheBandwidthDelayProductOfAnEmulatedLink) {
  Credits credits(1, 256 * 1024, 1.25e9, 10 * ms);
  credits.round_trip(ms / 10);
  EXPECT_EQ(credits.window(), static_cast<std::size_t>(2 * 1.25e9 * 10.1e-3));
}

TEST(Credits, GrowsWithTheMeasuredRateAndStaysAtAChunkOnASlowLink) {
  Credits fast(1, 1000, 0, 0);
  fast.round_trip(1000);
  fast.sent(0, 1000, 0);
  EXPECT_TRUE(fast.acknowledged(0, 1, 100).ok());  // 10 bytes a ns
  EXPECT_EQ(fast.window(), 20'000u);
  Credits slow(1, 1000, 0, 0);
  slow.round_trip(1000);
  slow.sent(0, 1000, 0);
  EXPECT_TRUE(slow.acknowledged(0, 1, 10'000).ok());  // 0.1 bytes a ns
  EXPECT_EQ(slow.window(), 1000u);
}

TEST(Credits, MakeUpForLateReceiptsOnAnEmulatedLink) {
  Credits credits(1, 100'000, 1.25e8, 0);  // 1 Gbit/s
  credits.sent(0, 50'000, 0);
  EXPECT_TRUE(credits.acknowledged(0, 1, ms).ok());
  EXPECT_EQ(credits.window(), 250'000u);
  credits.sent(0, 50'000, ms);
  EXPECT_TRUE(credits.acknowledged(0, 2, 100 * ms).ok());
  EXPECT_EQ(credits.window(), 800'000u);  // eight chunks at most
}

TEST(Credits, ForgetsWhatAClosedPeerHad) {
  Credits credits(2, 1000, 0, 0);
  credits.sent(0, 500, 0);
  credits.sent(1, 500, 0);
  credits.drop_peer(0);
  EXPECT_EQ(credits.in_flight_bytes(), 500u);
}

TEST(Watchdog, FollowsMovementNotAge) {
  Watchdog dog(1, 2, 0);
  const auto flying = [](int peer) { return peer == 1; };
  for (int i = 1; i <= 50; ++i) {
    dog.moved(1, i * 100 * ms);
    EXPECT_FALSE(dog.stalled(i * 100 * ms, true, flying).has_value());
  }
  std::optional<int> who;
  for (int i = 51; i <= 61; ++i) who = dog.stalled(i * 100 * ms, true, flying);
  EXPECT_EQ(who, 1);
}

TEST(Watchdog, NamesAPeerEvenWhileOthersMove) {
  Watchdog dog(1, 2, 0);
  std::optional<int> who;
  for (int i = 1; i <= 11; ++i) {
    dog.moved(0, i * 100 * ms);
    who = dog.stalled(i * 100 * ms, true, [](int) { return true; });
  }
  EXPECT_EQ(who, 1);
}

TEST(Watchdog, CountsStepsWhereNothingIsOnTheWay) {
  Watchdog dog(1, 1, 0);
  const auto none = [](int) { return false; };
  for (int i = 1; i <= 50; ++i) {
    dog.stepped(i * 100 * ms);
    EXPECT_FALSE(dog.stalled(i * 100 * ms, true, none).has_value());
  }
  std::optional<int> idle, waiting;
  for (int i = 51; i <= 61; ++i) idle = dog.stalled(i * 100 * ms, false, none);
  EXPECT_FALSE(idle.has_value());
  waiting = dog.stalled(62 * 100 * ms, true, none);
  EXPECT_EQ(waiting, Watchdog::everyone);
}

TEST(Watchdog, SeesAStallSoonAfterThisProcessWasStoppedAndSomethingStillMoved) {
  constexpr std::int64_t second = 1'000'000'000;
  Watchdog dog(1, 1, 0);
  const auto stalled = [&](std::int64_t now_ns) { return dog.stalled(now_ns, true, [](int) { return true; }); };
  dog.moved(0, 3600 * second);  // what had come while nobody could look
  EXPECT_FALSE(stalled(3600 * second));
  EXPECT_FALSE(stalled(3600 * second + second / 2));
  EXPECT_FALSE(stalled(3600 * second + second));
  EXPECT_TRUE(stalled(3600 * second + second + second / 4));
}

TEST(Watchdog, BlamesNobodyForTimeInWhichThisProcessWasStopped) {
  Watchdog dog(1, 1, 0);
  const auto flying = [](int) { return true; };
  EXPECT_FALSE(dog.stalled(100 * ms, true, flying).has_value());
  EXPECT_FALSE(dog.stalled(100'000 * ms, true, flying).has_value());
  EXPECT_FALSE(dog.stalled(100'100 * ms, true, flying).has_value());
}

TEST(ClockOffset, TakesTheShortestRoundTrip) {
  ClockOffset clock;
  clock.sample(1000, 5050, 1200);  // 100 out, 100 back: the peer is 3950 ahead
  clock.sample(2000, 6900, 4000);  // a slow one
  EXPECT_EQ(clock.offset_ns(), -3950);
  EXPECT_EQ(clock.error_ns(), 100);
  EXPECT_EQ(clock.samples(), 2);
  clock.sample(5000, 9010, 5020);
  EXPECT_EQ(clock.offset_ns(), -4000);
  EXPECT_EQ(clock.error_ns(), 10);
}

TEST(CourierFrames, ReadsWhatItWrites) {
  const auto bytes = to_bytes({FrameType::pong, 77, -5});
  ASSERT_EQ(bytes.size(), courier_frame_bytes);
  const auto frame = parse_courier_frame(bytes);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame.value().type, FrameType::pong);
  EXPECT_EQ(frame.value().value, 77u);
  EXPECT_EQ(frame.value().time, -5);
}

TEST(CourierFrames, RefusesEmptyCutAndUnknownOnes) {
  EXPECT_FALSE(parse_courier_frame({}).ok());
  auto bytes = to_bytes({FrameType::ping, 1, 0});
  bytes.pop_back();
  EXPECT_FALSE(parse_courier_frame(bytes).ok());
  bytes = to_bytes({static_cast<FrameType>(9), 1, 0});
  EXPECT_FALSE(parse_courier_frame(bytes).ok());
}

}  // namespace
}  // namespace lynxkv::comm
