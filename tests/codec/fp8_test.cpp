// `fp8`: the number format against its definition, a payload worked out by hand, bounds on real pages.
#include <gtest/gtest.h>

#include "codec/fp8_math.hpp"
#include "tests/codec/baseline.hpp"

namespace lynxkv::codec {
namespace {

using namespace baseline;

TEST(E4m3, HasTheValuesOfItsDefinition) {
  EXPECT_EQ(from_e4m3(0x00), 0.0f);
  EXPECT_EQ(from_e4m3(0x01), 0x1p-9f);  // the least subnormal
  EXPECT_EQ(from_e4m3(0x07), 7 * 0x1p-9f);
  EXPECT_EQ(from_e4m3(0x08), 0x1p-6f);  // the least normal number
  EXPECT_EQ(from_e4m3(0x38), 1.0f);
  EXPECT_EQ(from_e4m3(0x39), 1.125f);
  EXPECT_EQ(from_e4m3(0x7e), 448.0f);
  EXPECT_EQ(from_e4m3(0xb8), -1.0f);
  EXPECT_TRUE(is_e4m3_nan(0x7f));
  EXPECT_TRUE(is_e4m3_nan(0xff));
  EXPECT_FALSE(is_e4m3_nan(0x7e));
}

TEST(E4m3, IsTheNearestValueTiesToEven) {
  for (int code = 0; code < 0x7f; ++code) {
    const float value = from_e4m3(static_cast<std::uint8_t>(code));
    EXPECT_EQ(to_e4m3(value), code);
    EXPECT_EQ(to_e4m3(-value), code | 0x80);
    if (code == 0x7e) continue;
    const float middle = (value + from_e4m3(static_cast<std::uint8_t>(code + 1))) / 2;
    EXPECT_EQ(to_e4m3(middle), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 1000.0f)), code + 1);
  }
  EXPECT_EQ(to_e4m3(449.0f), 0x7e);
  EXPECT_EQ(to_e4m3(-1e30f), 0xfe);
}

TEST(Fp8, ScalesEveryChannelToItsLargestValue) {
  const TensorShape shape{.tokens = 2, .channels = 2, .head_dim = 2};
  const auto codec = make_codec("fp8", {});
  Encoded out;
  codec->encode(rows_of({448, -896, 1, 2}).data(), shape, out).take();
  EXPECT_EQ(bytes_of(out, 0),
            (std::vector<int>{0x80, 0x3f, 0x00, 0x40, 0x7e, 0xfe, 0x38, 0x38}));  // scales 1, 2
  EXPECT_EQ(decoded(*codec, Level::target, out, shape), (std::vector<float>{448, -896, 1, 2}));
}

TEST(Fp8, RefusesACodeThatIsNotANumber) {
  const TensorShape shape{.tokens = 1, .channels = 2, .head_dim = 2};
  const auto codec = make_codec("fp8", {});
  Encoded out;
  codec->encode(rows_of({1, 2}).data(), shape, out).take();
  out.payload[0].back() = std::byte{0x7f};
  std::vector<Bf16> rows(2);
  const auto result = codec->decode(Level::target, views(out), shape, rows.data());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::bad_data);
}

TEST(Fp8, StaysWithinASixteenthOfEveryValue) {
  for (const int tokens : {1, 31, 32, 33, 255, 256}) {
    const TensorShape shape{.tokens = tokens, .channels = 66, .head_dim = 2};
    const std::vector<float> values = uniform_values(tokens * 66, 3);
    const auto codec = make_codec("fp8", {});
    Encoded out;
    codec->encode(rows_of(values).data(), shape, out).take();
    const std::vector<float> found = decoded(*codec, Level::target, out, shape);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_LE(std::fabs(found[i] - values[i]), std::fabs(values[i]) * (1.0f / 16 + 1.0f / 256) + 1e-5f);
  }
}

TEST(Fp8, DistortsRealPagesWithinItsBounds) {
  expect_distortion({
      {"real_l0_k_p0", "fp8", Level::target, 0.0246, 0.0261},
      {"real_l29_v_p0", "fp8", Level::target, 0.0247, 0.0263},
  });
}

}  // namespace
}  // namespace lynxkv::codec
