// What a courier learns of its link, and the buffers it uses again.
#include <gtest/gtest.h>

#include <deque>

#include "comm/buffer_pool.hpp"
#include "comm/credits.hpp"
#include "comm/link_speed.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::int64_t ms = 1'000'000;

// A link of `rate` bytes per second, whose receipts come `late_ns` behind the bytes. Fills the window all along.
void fill_link(Credits& credits, double rate, std::int64_t late_ns, double seconds) {
  struct Flying {
    std::int64_t receipt_ns;
  };
  std::deque<Flying> flying;
  std::int64_t free_ns = 0, now = 0;
  std::uint64_t received = 0;
  while (now < static_cast<std::int64_t>(seconds * 1e9)) {
    const std::size_t part = credits.chunk_bytes() / 4;
    while (credits.fits(part)) {
      free_ns = std::max(free_ns, now) + static_cast<std::int64_t>(static_cast<double>(part) / rate * 1e9);
      credits.sent(0, part, now);
      flying.push_back({free_ns + late_ns});
    }
    now = flying.front().receipt_ns;
    flying.pop_front();
    ASSERT_TRUE(credits.acknowledged(0, ++received, now).ok());
  }
}

TEST(AdaptiveChunk, IsWhatTheLinkCarriesInTwoMilliseconds) {
  for (const double rate : {2.5e7, 5e7, 1e8}) {
    Credits credits(1, 0, 0, 0);
    EXPECT_EQ(credits.chunk_bytes(), 256u * 1024);  // nothing is known yet
    fill_link(credits, rate, ms / 10, 1);
    EXPECT_NEAR(static_cast<double>(credits.chunk_bytes()), rate * 0.002, rate * 0.002 * 0.05);
    EXPECT_EQ(credits.window(), credits.chunk_bytes());
  }
}

TEST(AdaptiveChunk, StaysBetween32And256KiB) {
  Credits slow(1, 0, 0, 0), fast(1, 0, 0, 0);
  fill_link(slow, 1e6, ms / 10, 5);
  EXPECT_EQ(slow.chunk_bytes(), 32u * 1024);
  fill_link(fast, 1e9, ms / 100, 1);
  EXPECT_EQ(fast.chunk_bytes(), 256u * 1024);
}

TEST(AdaptiveChunk, LeavesMoreOnTheWayWhereReceiptsComeLate) {
  Credits credits(1, 0, 0, 0);
  fill_link(credits, 1e8, 4 * ms, 3);
  // Three milliseconds behind the chunk's own two: the wire would be dry for most of the time.
  EXPECT_GT(credits.window(), 2 * credits.chunk_bytes());
  EXPECT_LE(credits.window(), 4 * 256u * 1024);
  EXPECT_NEAR(credits.rate(), 1e8, 1e7);
}

TEST(AdaptiveChunk, OnAFastLinkIsNotHeldToTheRateAtWhichSleepingThreadsSeeReceipts) {
  Credits credits(1, 0, 0, 0);
  fill_link(credits, 1e10, ms / 4, 1);
  EXPECT_EQ(credits.window(), 4u * 256 * 1024);
  EXPECT_GT(credits.rate(), 3e9);
}

TEST(LinkSpeed, IsNotBentByReceiptsThatComeLateAndTogether) {
  LinkSpeed speed;
  std::int64_t now = ms;
  for (int i = 0; i < 60; ++i) {
    const bool late = i % 6 == 5;  // a stall of 4 ms, and behind it one that had waited
    now += late ? 4 * ms : i % 6 == 0 ? ms / 100 : ms;
    speed.delivered(100'000, 0, now);
  }
  EXPECT_NEAR(speed.rate(), 1e8, 1e6);
}

TEST(LinkSpeed, IsNotBentByReceiptsThatASleepingThreadSeesInBunches) {
  LinkSpeed speed;
  std::int64_t now = ms;
  for (int bunch = 0; bunch < 40; ++bunch) {  // three together a millisecond, some microseconds apart
    now += ms - 10'000;
    for (int i = 0; i < 3; ++i) speed.delivered(40'000, 0, now += 5'000);
    now -= 5'000;
  }
  EXPECT_NEAR(speed.rate(), 120'000 / 1e-3, 0.05 * 1.2e8);
}

TEST(AdaptiveChunk, AllowsNoMoreThanFourWhereReceiptsAreSeenInBunches) {
  Credits credits(1, 0, 0, 0);
  credits.round_trip(600'000);
  std::int64_t now = ms;
  std::uint64_t received = 0;
  for (int bunch = 0; bunch < 400; ++bunch) {
    for (int i = 0; i < 3; ++i) credits.sent(0, 37'000, now);
    now += ms - 10'000;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(credits.acknowledged(0, ++received, now += 3'000).ok());
  }
  EXPECT_LE(credits.window(), 4u * credits.chunk_bytes());
}

TEST(AdaptiveChunk, TakesTheShortestRoundTripForTheLinks) {
  Credits credits(1, 0, 0, 0);
  credits.round_trip(600'000);
  credits.round_trip(60 * ms);  // asked behind megabytes of data
  fill_link(credits, 1e8, 4 * ms, 1);
  EXPECT_LE(credits.window(), 4u * 256 * 1024);
}

TEST(LinkSpeed, KnowsNothingFromMessagesThatNeverWaited) {
  LinkSpeed speed;
  for (int i = 1; i < 60; ++i) speed.delivered(100, i * ms, i * ms + 1000);
  EXPECT_FALSE(speed.known());
  EXPECT_EQ(speed.rate(), 0);
}

TEST(BufferPool, GivesBuffersAgainWithoutLosingBytesOfTheSizeAskedFor) {
  BufferPool pool(1 << 20);
  std::vector<std::byte> first = pool.take(100'000);
  const std::byte* at = first.data();
  pool.give(std::move(first));
  EXPECT_EQ(pool.held_bytes(), 100'000u);
  const std::vector<std::byte> smaller = pool.take(60'000);
  EXPECT_EQ(smaller.data(), at);
  EXPECT_EQ(smaller.size(), 60'000u);
  EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(BufferPool, HoldsNoMoreThanItsLimit) {
  BufferPool pool(250'000);
  for (int i = 0; i < 5; ++i) pool.give(std::vector<std::byte>(100'000));
  EXPECT_EQ(pool.held_bytes(), 200'000u);
  pool.give(std::vector<std::byte>(100));  // not worth keeping
  EXPECT_EQ(pool.held_bytes(), 200'000u);
}

}  // namespace
}  // namespace lynxkv::comm
