// `kivi4`: payloads worked out by hand, groups of 32 along tokens (K) and channels (V), bounds on real pages.
#include <gtest/gtest.h>

#include "tests/codec/baseline.hpp"

namespace lynxkv::codec {
namespace {

using namespace baseline;

TEST(Kivi, CodesKByChannel) {
  const TensorShape shape{.tokens = 2, .channels = 2, .head_dim = 2};
  const auto codec = make_codec("kivi4", {});
  Encoded out;
  codec->encode(rows_of({0, -2, 15, 28}).data(), shape, out).take();
  // lo 0, -2; step 1, 2; codes 0 0 and 15 15
  EXPECT_EQ(bytes_of(out, 0), (std::vector<int>{0x00, 0x00, 0x00, 0xc0, 0x80, 0x3f, 0x00, 0x40, 0x00, 0xff}));
  EXPECT_EQ(decoded(*codec, Level::target, out, shape), (std::vector<float>{0, -2, 15, 28}));
}

TEST(Kivi, CodesVByToken) {
  TensorShape shape{.tokens = 2, .channels = 4, .head_dim = 4};
  shape.kind = page::Kind::value;
  const auto codec = make_codec("kivi4", {});
  Encoded out;
  codec->encode(rows_of({2, 3, 4, 17, 0, 0, 0, 30}).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out, 0),
            (std::vector<int>{0x00, 0x40, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x40, 0x10, 0xf2, 0x00, 0xf0}));
  EXPECT_EQ(decoded(*codec, Level::target, out, shape), (std::vector<float>{2, 3, 4, 17, 0, 0, 0, 30}));
}

TEST(Kivi, BeginsANewGroupAfter32TokensOfKAnd32ChannelsOfV) {
  for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
    const bool key = kind == page::Kind::key;
    TensorShape shape{.tokens = key ? 34 : 2, .channels = key ? 2 : 34, .head_dim = 2};
    shape.kind = kind;
    std::vector<float> values(68, 1.0f);
    const std::size_t second = key ? 64 : 32;
    values[second] = 100;
    values[second + (key ? 2 : 1)] = 115;
    const auto codec = make_codec("kivi4", {});
    Encoded out;
    codec->encode(rows_of(values).data(), shape, out).take();
    EXPECT_EQ(decoded(*codec, Level::target, out, shape), values);
  }
}

TEST(Kivi, TakesFiveBits) {
  const TensorShape shape{.tokens = 256, .channels = 192, .head_dim = 64};
  EXPECT_EQ(make_codec("kivi4", {})->payload_bytes(StreamId::anchor, shape, false) * 8, 256u * 192 * 5);
}

TEST(Kivi, StaysWithinHalfAStepOfEveryValue) {
  for (const int tokens : {1, 31, 32, 33, 255, 256})
    for (const int channels : {2, 30, 32, 34, 192})
      for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
        TensorShape shape{.tokens = tokens, .channels = channels, .head_dim = 2};
        shape.kind = kind;
        const std::vector<float> values = uniform_values(tokens * channels, 2);
        const auto codec = make_codec("kivi4", {});
        Encoded out;
        codec->encode(rows_of(values).data(), shape, out).take();
        expect_near(decoded(*codec, Level::target, out, shape), values, 1.0 / 15 * 1.01 + 1.0 / 256);
      }
}

TEST(Kivi, DistortsRealPagesWithinItsBounds) {
  expect_distortion({
      {"real_l0_k_p0", "kivi4", Level::target, 0.0481, 0.051},
      {"real_l29_v_p0", "kivi4", Level::target, 0.0792, 0.0841},
  });
}

}  // namespace
}  // namespace lynxkv::codec
