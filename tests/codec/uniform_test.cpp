// int8 and int4, by token and head and by channel: hand-sized payloads, then a plain form over many sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "codec/codec.hpp"
#include "kernels/codec.hpp"
#include "kernels/runtime.hpp"

namespace lynxkv::codec {
namespace {

std::vector<Bf16> rows_of(std::initializer_list<float> values) {
  std::vector<Bf16> rows;
  for (const float x : values) rows.push_back(to_bf16(x));
  return rows;
}
std::vector<int> bytes_of(const Encoded& out) {
  std::vector<int> bytes;
  for (const std::byte b : out.payload[0]) bytes.push_back(static_cast<int>(b));
  return bytes;
}
std::vector<float> decoded(const Codec& codec, const Encoded& out, const TensorShape& shape) {
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens * shape.channels));
  codec.decode(Level::target, {{out.payload[0], {}, {}}, out.raw}, shape, rows.data()).take();
  std::vector<float> values;
  for (const Bf16 x : rows) values.push_back(to_float(x));
  return values;
}

TEST(Int4, PutsTheEvenChannelInTheLowHalf) {
  const TensorShape shape{.tokens = 1, .channels = 4, .head_dim = 4};
  const auto codec = make_codec("int4", {});
  Encoded out;
  codec->encode(rows_of({2, 3, 4, 17}).data(), shape, out).take();
  // lo 2.0, step 1.0; codes 0 1 2 15
  EXPECT_EQ(bytes_of(out), (std::vector<int>{0x00, 0x40, 0x80, 0x3f, 0x10, 0xf2}));
  EXPECT_EQ(decoded(*codec, out, shape), (std::vector<float>{2, 3, 4, 17}));
}

TEST(Int4, GivesEveryTokenAndHeadItsOwnScale) {
  const TensorShape shape{.tokens = 2, .channels = 4, .head_dim = 2};
  const auto codec = make_codec("int4", {});
  Encoded out;
  codec->encode(rows_of({0, 15, -30, 0, 5, 5, 1, 61}).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out), (std::vector<int>{0x00, 0x00, 0xf0, 0xc1, 0xa0, 0x40, 0x80, 0x3f,   // lo 0 -30 5 1
                                             0x80, 0x3f, 0x00, 0x40, 0x00, 0x00, 0x80, 0x40,   // step 1 2 0 4
                                             0xf0, 0xf0, 0x00, 0xf0}));
  EXPECT_EQ(decoded(*codec, out, shape), (std::vector<float>{0, 15, -30, 0, 5, 5, 1, 61}));
}

TEST(Int4Channel, GivesEveryChannelOfThePageItsOwnScale) {
  const TensorShape shape{.tokens = 2, .channels = 2, .head_dim = 2};
  const auto codec = make_codec("int4-channel", {});
  Encoded out;
  codec->encode(rows_of({0, -2, 15, 28}).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out), (std::vector<int>{0x00, 0x00, 0x00, 0xc0, 0x80, 0x3f, 0x00, 0x40, 0x00, 0xff}));
  EXPECT_EQ(decoded(*codec, out, shape), (std::vector<float>{0, -2, 15, 28}));
}

TEST(Int8, WritesOneByteAValue) {
  const TensorShape shape{.tokens = 1, .channels = 4, .head_dim = 4};
  const auto codec = make_codec("int8", {});
  Encoded out;
  codec->encode(rows_of({0, 1, 128, 255}).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out), (std::vector<int>{0x00, 0x00, 0x80, 0x3f, 0, 1, 128, 255}));
  EXPECT_EQ(decoded(*codec, out, shape), (std::vector<float>{0, 1, 128, 255}));
}

TEST(Int8, RoundsItsStepUpSoThatTheLargestValueFits) {
  const TensorShape shape{.tokens = 1, .channels = 2, .head_dim = 2};
  const auto codec = make_codec("int8", {});
  Encoded out;
  codec->encode(rows_of({0, 256}).data(), shape, out).take();
  // 256 / 255 = 1.0039..; the next bf16 above is 1.0078125; 256 / 1.0078125 = 254.02
  EXPECT_EQ(bytes_of(out), (std::vector<int>{0x00, 0x00, 0x81, 0x3f, 0, 254}));
}

TEST(Int4, WritesPositiveZeroForANegativeZero) {
  const TensorShape shape{.tokens = 1, .channels = 2, .head_dim = 2};
  Encoded out;
  make_codec("int4", {})->encode(rows_of({-0.0f, -0.0f}).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out), (std::vector<int>{0, 0, 0, 0, 0}));
}

TEST(UniformSizes, AreThoseOfTheFormat) {
  const TensorShape shape{.tokens = 256, .channels = 192, .head_dim = 64};
  const auto bits = [&](const char* mode) {
    return static_cast<double>(make_codec(mode, {})->payload_bytes(StreamId::anchor, shape, false)) * 8 / (256 * 192);
  };
  EXPECT_DOUBLE_EQ(bits("int4"), 4.5);
  EXPECT_DOUBLE_EQ(bits("int8"), 8.5);
  EXPECT_DOUBLE_EQ(bits("int4-channel"), 4.125);
  EXPECT_DOUBLE_EQ(bits("int8-channel"), 8.125);
  EXPECT_DOUBLE_EQ(bits("bf16"), 16);
}

// The format, said once more in the plainest way.
struct Plain {
  std::vector<std::byte> payload;
  std::vector<Bf16> values;
};
Plain plain(const std::vector<Bf16>& rows, const TensorShape& shape, int bits, bool per_channel) {
  const int heads = shape.channels / shape.head_dim, groups = per_channel ? shape.channels : shape.tokens * heads;
  const int top = bits == 8 ? 255 : 15;
  const auto group = [&](int i) {
    const int token = i / shape.channels, channel = i % shape.channels;
    return static_cast<std::size_t>(per_channel ? channel : token * heads + channel / shape.head_dim);
  };
  std::vector<float> lo(static_cast<std::size_t>(groups), INFINITY), hi(static_cast<std::size_t>(groups), -INFINITY);
  const int count = static_cast<int>(rows.size());
  for (int i = 0; i < count; ++i) {
    const float x = to_float(rows[static_cast<std::size_t>(i)]);
    lo[group(i)] = std::min(lo[group(i)], x);
    hi[group(i)] = std::max(hi[group(i)], x);
  }
  Plain out;
  std::vector<Bf16> scales;
  for (const float x : lo) scales.push_back(to_bf16(x + 0.0f));
  for (std::size_t g = 0; g < lo.size(); ++g) scales.push_back(to_bf16_up((hi[g] - lo[g]) / static_cast<float>(top)));
  out.payload.resize(scales.size() * 2);
  std::memcpy(out.payload.data(), scales.data(), out.payload.size());
  for (int i = 0; i < count; ++i) {
    const float low = to_float(scales[group(i)]), step = to_float(scales[lo.size() + group(i)]);
    const float scaled = step > 0 ? std::floor((to_float(rows[static_cast<std::size_t>(i)]) - low) / step + 0.5f) : 0.0f;
    const int q = static_cast<int>(std::clamp(scaled, 0.0f, static_cast<float>(top)));
    if (bits == 8 || i % 2 == 0) out.payload.push_back(static_cast<std::byte>(q));
    else out.payload.back() |= static_cast<std::byte>(q << 4);
    const float above = static_cast<float>(q) * step;
    out.values.push_back(to_bf16(above + low));
  }
  return out;
}

class UniformOnEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    kernels::start_runtime(3, kernels::best_isa());
    kernels::start_runtime(1, kernels::best_isa());
    kernels::use_codec_target(GetParam());
  }
  void expect_plain(const std::vector<Bf16>& rows, const TensorShape& shape) {
    for (const char* mode : {"int8", "int4", "int8-channel", "int4-channel"}) {
      SCOPED_TRACE(testing::Message() << mode << ", " << shape.tokens << " tokens, head_dim " << shape.head_dim);
      const std::string name = mode;
      const Plain expected = plain(rows, shape, name[3] - '0', name.size() > 4);
      Encoded out;
      const auto codec = make_codec(mode, {});
      codec->encode(rows.data(), shape, out).take();
      ASSERT_EQ(out.payload[0], expected.payload);
      std::vector<Bf16> values(rows.size());
      codec->decode(Level::target, {{out.payload[0], {}, {}}, false}, shape, values.data()).take();
      ASSERT_EQ(values, expected.values);
    }
  }
  void TearDown() override { kernels::use_codec_target(""); }
};

TEST_P(UniformOnEveryTarget, EqualsThePlainForm) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const int tokens : {1, 31, 32, 33, 255, 256})
    for (const int head_dim : {1, 2, 3, 6, 8, 16, 32, 33, 64, 80, 128})
      for (const int spread : {0, 1, 2, 3}) {
        const TensorShape shape{.tokens = tokens, .channels = head_dim * 2, .head_dim = head_dim};
        std::vector<Bf16> rows(static_cast<std::size_t>(tokens * shape.channels));
        for (Bf16& x : rows) {
          x = to_bf16(normal(random));
          if (spread == 1) x.bits = static_cast<std::uint16_t>(random() & 0x807f);  // denormals and zeros
          if (spread == 2) x.bits = static_cast<std::uint16_t>(random() % 0x7e80u | (random() & 0x8000));
          if (spread == 3) x = to_bf16(static_cast<float>(random() % 31) * 0.5f);  // ties
        }
        expect_plain(rows, shape);
      }
}

TEST_P(UniformOnEveryTarget, EqualsThePlainFormOnSeveralThreads) {
  kernels::start_runtime(3, kernels::best_isa());
  kernels::use_codec_target(GetParam());
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const int head_dim : {33, 64, 80}) {
    // Long enough to be shared among the threads.
    const TensorShape shape{.tokens = 256, .channels = head_dim * 128, .head_dim = head_dim};
    std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens * shape.channels));
    for (Bf16& x : rows) x = to_bf16(normal(random));
    expect_plain(rows, shape);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, UniformOnEveryTarget, testing::ValuesIn(kernels::codec_targets()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace lynxkv::codec
