#include "engine/release_times.hpp"

#include <gtest/gtest.h>

namespace lynxkv::engine {
namespace {

page::Geometry geometry() {
  page::Geometry made;
  made.layers = 2;
  made.kv_heads = 1;
  made.head_dim = 2;
  made.page_tokens = 4;
  return made;
}

TEST(ReleaseTimes, OrderTensorsAsPrefillCompletesThem) {
  const ReleaseTimes times(geometry(), 9, 8);  // chunks of two pages: pages 0,1 then page 2
  const auto& order = times.order();
  ASSERT_EQ(order.size(), 12u);
  EXPECT_EQ(order[0].page, 0);
  EXPECT_EQ(order[0].kind, page::Kind::key);
  EXPECT_EQ(order[1].kind, page::Kind::value);
  EXPECT_EQ(order[2].page, 1);
  EXPECT_EQ(order[2].layer, 0);
  EXPECT_EQ(order[4].layer, 1);
  EXPECT_EQ(order[4].page, 0);
  EXPECT_EQ(order[8].page, 2);
}

TEST(ReleaseTimes, MakeATensorAvailableWithItsLayerOfItsChunk) {
  ReleaseTimes times(geometry(), 9, 8);
  EXPECT_FALSE(times.available(0));
  times.complete(0, 0, 5);
  EXPECT_TRUE(times.available(3));
  EXPECT_EQ(times.offset_ns(3), 5);
  EXPECT_FALSE(times.available(4));
  times.complete(1, 1, 9);
  EXPECT_TRUE(times.available(11));
}

TEST(ReleaseTimes, OfAnEmptyPromptAreEmpty) {
  EXPECT_TRUE(ReleaseTimes(geometry(), 0, 8).order().empty());
  for (const int tokens : {1, 3, 4, 5, 7, 8}) EXPECT_EQ(ReleaseTimes(geometry(), tokens, 4).order().size(), tokens > 4 ? 8u : 4u);
}

}  // namespace
}  // namespace lynxkv::engine
