// Staging places and what the ends of an NCCL route say to each other.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "comm/nccl_frames.hpp"
#include "comm/staging_ring.hpp"

namespace lynxkv::comm {
namespace {

TEST(StagingRing, GivesPlacesOneBehindTheOtherUntilItIsFull) {
  StagingRing ring(1024);
  EXPECT_EQ(ring.take(1), 0u);
  EXPECT_EQ(ring.take(256), 256u);
  EXPECT_EQ(ring.take(512), 512u);
  EXPECT_FALSE(ring.take(1));
  ring.give_back();
  EXPECT_FALSE(ring.take(257)) << "only 256 are free";
  EXPECT_EQ(ring.take(256), 0u);
}

TEST(StagingRing, KeepsAPlaceInOnePieceAtTheEnd) {
  StagingRing ring(1024);
  EXPECT_EQ(ring.take(768), 0u);
  EXPECT_FALSE(ring.take(512));
  ring.give_back();
  EXPECT_EQ(ring.take(512), 0u) << "empty: from the beginning";
  EXPECT_EQ(ring.take(256), 512u);
  ring.give_back();
  EXPECT_EQ(ring.take(512), 0u) << "256 at the end are left out";
  EXPECT_FALSE(ring.take(1)) << "and count as taken until then";
}

TEST(StagingRing, TakesTheWholeAndNothingLarger) {
  StagingRing ring(1024);
  EXPECT_FALSE(ring.take(1025));
  EXPECT_EQ(ring.take(1024), 0u);
  EXPECT_TRUE(ring.take(0)) << "nothing needs no room";
  EXPECT_FALSE(ring.take(1));
  ring.give_back();
  ring.give_back();
  EXPECT_TRUE(ring.empty());
  EXPECT_FALSE(ring.take(static_cast<std::size_t>(-1)));
}

TEST(StagingRing, NeverGivesAByteTwice) {
  std::mt19937 draw(3);
  for (const std::size_t size : {256u, 512u, 4096u, 65536u}) {
    StagingRing ring(size);
    std::deque<std::pair<std::size_t, std::size_t>> taken;
    for (int step = 0; step < 20'000; ++step) {
      const std::size_t bytes = draw() % (size / 2 + 1);
      if (const auto at = ring.take(bytes)) {
        ASSERT_LE(*at + bytes, size);
        for (const auto& [first, count] : taken) ASSERT_TRUE(*at + bytes <= first || first + count <= *at || bytes == 0 || count == 0);
        taken.emplace_back(*at, bytes);
      } else {
        ASSERT_FALSE(taken.empty()) << "half of it always fits into an empty ring";
      }
      while (!taken.empty() && draw() % 2 == 0) {
        ring.give_back();
        taken.pop_front();
      }
    }
  }
}

TEST(NcclFrames, ComeBackAsTheyWere) {
  const auto bytes = to_bytes(NcclFrame{NcclFrameKind::grant, 7, 1ull << 40});
  ASSERT_EQ(bytes.size(), nccl_frame_bytes);
  EXPECT_EQ(bytes[0], std::byte{2});
  EXPECT_EQ(bytes[1], std::byte{7});
  const NcclFrame frame = parse_nccl_frame(bytes).take();
  EXPECT_EQ(frame.kind, NcclFrameKind::grant);
  EXPECT_EQ(frame.number, 7u);
  EXPECT_EQ(frame.bytes, 1ull << 40);
}

TEST(NcclFrames, OfOtherLengthsAndKindsAreRefused) {
  auto bytes = to_bytes(NcclFrame{});
  for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(parse_nccl_frame(std::span(bytes).first(length)).ok());
  bytes.push_back({});
  EXPECT_FALSE(parse_nccl_frame(bytes).ok());
  bytes.pop_back();
  for (const int kind : {0, 3, 255}) {
    bytes[0] = static_cast<std::byte>(kind);
    EXPECT_FALSE(parse_nccl_frame(bytes).ok());
  }
}

}  // namespace
}  // namespace lynxkv::comm
