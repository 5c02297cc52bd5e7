// `quantspec`: payloads worked out by hand, for K by channel and V by token; two-sided distortion on real
// pages.
#include <gtest/gtest.h>

#include "tests/codec/baseline.hpp"

namespace lynxkv::codec {
namespace {

using namespace baseline;

// Range 240, so that step is 1: q = x - lo. upper = (q + 8) >> 4; lower = q - 16 upper.
//   q      0   7   8  23  24 100 232 240
//   upper  0   0   1   1   2   6  15  15
//   lower  0   7  -8   7  -8   4  -8   0
const std::vector<float> tokens_of_k{0, -5, 7, -5, 8, -5, 23, -5, 24, -5, 100, -5, 232, -5, 240, -5};

TEST(QuantSpec, CodesKByChannelInTwoPlanesOfOneScale) {
  const TensorShape shape{
      .tokens = 8, .channels = 2, .head_dim = 2};  // channel 0 as above; channel 1 constant
  const auto codec = make_codec("quantspec", {});
  Encoded out;
  codec->encode(rows_of(tokens_of_k).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out, 0), (std::vector<int>{0x00, 0x00, 0xa0, 0xc0,  // lo 0, -5
                                                0x80, 0x3f, 0x00, 0x00,  // step 1, 0
                                                0, 0, 1, 1, 2, 6, 15, 15}));
  EXPECT_EQ(bytes_of(out, 1), (std::vector<int>{0, 7, 8, 7, 8, 4, 8, 0}));
  EXPECT_EQ(decoded(*codec, Level::target, out, shape), tokens_of_k);
  EXPECT_EQ(decoded(*codec, Level::draft, out, shape),
            (std::vector<float>{0, -5, 0, -5, 16, -5, 16, -5, 32, -5, 96, -5, 240, -5, 240, -5}));
}

TEST(QuantSpec, CodesVByTokenWithTheEvenChannelInTheLowHalf) {
  TensorShape shape{.tokens = 2, .channels = 4, .head_dim = 4};
  shape.kind = page::Kind::value;
  const auto codec = make_codec("quantspec", {});
  Encoded out;
  const std::vector<float> v{0, 24, 100, 240, 2, 2, 242, 2};
  codec->encode(rows_of(v).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out, 0),
            (std::vector<int>{0x00, 0x00, 0x00, 0x40, 0x80, 0x3f, 0x80, 0x3f, 0x20, 0xf6, 0x00, 0x0f}));
  EXPECT_EQ(bytes_of(out, 1), (std::vector<int>{0x80, 0x04, 0x00, 0x00}));
  EXPECT_EQ(decoded(*codec, Level::target, out, shape), v);
}

TEST(QuantSpec, BeginsANewGroupAfter128TokensOfKAnd128ChannelsOfV) {
  for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
    const bool key = kind == page::Kind::key;
    TensorShape shape{.tokens = key ? 130 : 2, .channels = key ? 2 : 130, .head_dim = 2};
    shape.kind = kind;
    std::vector<float> values(260, 1.0f);  // the second group: values 1000 and 1240 alone
    const std::size_t second = key ? 256 : 128;
    values[second] = 1000;
    values[second + (key ? 2 : 1)] = 1240;
    const auto codec = make_codec("quantspec", {});
    Encoded out;
    codec->encode(rows_of(values).data(), shape, out).take();
    const std::vector<float> full = decoded(*codec, Level::target, out, shape);
    EXPECT_EQ(full[0], 1.0f);
    EXPECT_EQ(full[second], 1000.0f);
    EXPECT_EQ(full[second + (key ? 2 : 1)], 1240.0f);
    EXPECT_EQ(full[second - 1], 1.0f);
  }
}

TEST(QuantSpec, TakesFourAndAQuarterBitsAndFourMore) {
  TensorShape shape{.tokens = 256, .channels = 256, .head_dim = 64};
  const auto codec = make_codec("quantspec", {});
  for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
    shape.kind = kind;
    EXPECT_EQ(codec->payload_bytes(StreamId::anchor, shape, false) * 8, 256u * 256 * 17 / 4);
    EXPECT_EQ(codec->payload_bytes(StreamId::residual, shape, false) * 8, 256u * 256 * 4);
  }
}

TEST(QuantSpec, StaysWithinHalfAStepOfEveryValue) {
  for (const int tokens : {1, 31, 32, 33, 127, 128, 129, 255, 256})
    for (const int channels : {2, 64, 126, 130, 192})
      for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
        TensorShape shape{.tokens = tokens, .channels = channels, .head_dim = 2};
        shape.kind = kind;
        const std::vector<float> values = uniform_values(tokens * channels, 1);
        const auto codec = make_codec("quantspec", {});
        Encoded out;
        codec->encode(rows_of(values).data(), shape, out).take();
        // Values are in [-1, 1): a step is 2 / 240 or less, plus the bf16 rounding of step and result.
        expect_near(decoded(*codec, Level::target, out, shape), values, 1.0 / 240 * 1.01 + 1.0 / 256);
        expect_near(decoded(*codec, Level::draft, out, shape), values, 16.0 / 240 * 1.01 + 1.0 / 256);
      }
}

TEST(QuantSpec, DistortsRealPagesWithinItsBounds) {
  expect_distortion({
      {"real_l0_k_p0", "quantspec", Level::draft, 0.0641, 0.0681},
      {"real_l0_k_p0", "quantspec", Level::target, 0.00417, 0.00443},
      {"real_l29_v_p0", "quantspec", Level::draft, 0.105, 0.111},
      {"real_l29_v_p0", "quantspec", Level::target, 0.00674, 0.00716},
  });
}

}  // namespace
}  // namespace lynxkv::codec
