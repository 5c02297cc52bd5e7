#include "page/sequence_kv.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace lynxkv::page {
namespace {

Geometry small() {
  Geometry geometry;
  geometry.layers = 2;
  geometry.kv_heads = 1;
  geometry.head_dim = 2;
  geometry.page_tokens = 4;
  geometry.chunk_tokens = 2;
  return geometry;
}

TEST(SequenceKv, PutsPositionsOnPagesInOrder) {
  PagePool pool(small(), Element::bf16, 100);
  SequenceKv kv(pool);
  kv.extend(6);
  EXPECT_EQ(kv.length(), 6);
  ASSERT_EQ(kv.page_count(), 2);
  EXPECT_EQ(kv.page_tokens(0), 4);
  EXPECT_EQ(kv.page_tokens(1), 2);
  EXPECT_EQ(kv.page_first_position(1), 4);
  EXPECT_EQ(kv.row(1, Kind::value, 5), kv.page_data(1, Kind::value, 1) + 1 * 2 * 2);
  EXPECT_EQ(pool.in_use(), 2 * 4);  // two pages of K and V in two layers
}

TEST(SequenceKv, BeginsAFreshPageBehindASeal) {
  PagePool pool(small(), Element::bf16, 100);
  SequenceKv kv(pool);
  kv.extend(3);
  kv.seal();
  kv.extend(2);
  ASSERT_EQ(kv.page_count(), 2);
  EXPECT_EQ(kv.page_tokens(0), 3);
  EXPECT_EQ(kv.page_first_position(1), 3);
  EXPECT_EQ(kv.row(0, Kind::key, 3), kv.page_data(0, Kind::key, 1));
  EXPECT_EQ(pool.in_use(), SequenceKv::blocks_needed(small(), 3, 2));
}

TEST(SequenceKv, StaysSealedWhenEverythingBehindTheSealIsCutOff) {
  PagePool pool(small(), Element::bf16, 100);
  SequenceKv kv(pool);
  kv.extend(3);
  kv.seal();
  kv.extend(5);
  kv.truncate(3);
  EXPECT_EQ(kv.page_count(), 1);
  kv.extend(1);
  EXPECT_EQ(kv.page_count(), 2);
  EXPECT_EQ(kv.page_tokens(0), 3);
  kv.truncate(4);
  kv.extend(3);
  EXPECT_EQ(kv.page_count(), 2) << "the tail page is appended to";
}

TEST(SequenceKv, TruncatesInsideAPageAndGivesEmptyPagesBack) {
  PagePool pool(small(), Element::bf16, 100);
  SequenceKv kv(pool);
  kv.extend(9);
  kv.truncate(5);
  EXPECT_EQ(kv.length(), 5);
  EXPECT_EQ(kv.page_count(), 2);
  EXPECT_EQ(pool.in_use(), 8);
  kv.truncate(0);
  EXPECT_EQ(pool.in_use(), 0);
}

TEST(SequenceKv, GivesItsBlocksBackOnceWhenItIsMoved) {
  PagePool pool(small(), Element::f32, 100);
  {
    SequenceKv kv(pool);
    kv.extend(4);
    SequenceKv moved(std::move(kv));
    EXPECT_EQ(moved.length(), 4);
    EXPECT_EQ(kv.length(), 0);
    SequenceKv other(pool);
    other.extend(1);
    other = std::move(moved);
    EXPECT_EQ(pool.in_use(), 4);
  }
  EXPECT_EQ(pool.in_use(), 0);
}

TEST(SequenceKv, HoldsWhatIsWrittenAroundPageBorders) {
  Geometry geometry = small();
  geometry.page_tokens = 256;
  for (const int tokens : {1, 31, 32, 33, 255, 256, 257, 511}) {
    PagePool pool(geometry, Element::bf16, 100);
    SequenceKv kv(pool);
    kv.extend(tokens);
    for (int position = 0; position < tokens; ++position)
      std::memset(kv.row(1, Kind::key, position), position % 251, 4);
    for (int position = 0; position < tokens; ++position)
      ASSERT_EQ(static_cast<int>(*kv.row(1, Kind::key, position)), position % 251);
    EXPECT_EQ(kv.page_count(), geometry.pages_for(tokens));
  }
}

TEST(PagePool, RefusesAReservationThatDoesNotFitAndTakesItOnceThereIsRoom) {
  PagePool pool(small(), Element::bf16, 10);
  EXPECT_TRUE(pool.reserve(6));
  EXPECT_FALSE(pool.reserve(5));
  EXPECT_EQ(pool.reserved(), 6);
  pool.unreserve(6);
  EXPECT_TRUE(pool.reserve(10));
}

TEST(PagePool, CountsTheLivesOfABlock) {
  PagePool pool(small(), Element::bf16, 10);
  const BlockId block = pool.acquire();
  const auto first = pool.generation(block);
  pool.release(block);
  EXPECT_EQ(pool.acquire(), block);
  EXPECT_EQ(pool.generation(block), first + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.data(block)) % 64, 0u);
}

TEST(PagePoolDeathTest, StopsOnADoubleRelease) {
  PagePool pool(small(), Element::bf16, 10);
  const BlockId block = pool.acquire();
  pool.release(block);
  EXPECT_DEATH(pool.release(block), "internal error");
}

}  // namespace
}  // namespace lynxkv::page
