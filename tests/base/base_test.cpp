#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/bf16.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/handle.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "base/result.hpp"

namespace lynxkv {
namespace {

TEST(Bf16, RoundsToNearestWithTiesToEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.00390625f).bits, 0x3f80);  // halfway to the next: even wins
  EXPECT_EQ(to_bf16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(to_bf16(-0.0f).bits, 0x8000);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(NAN))));
  EXPECT_FALSE(is_finite(to_bf16(3.4e38f))) << "past the range";
}

TEST(Bf16, RoundsUpTowardPlusInfinity) {
  EXPECT_EQ(to_bf16_up(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16_up(1.0000001f).bits, 0x3f81);
  EXPECT_EQ(to_bf16_up(-1.0000001f).bits, 0xbf80);
}

TEST(Bf16, ComesBackFromFloatForEveryFiniteValue) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Bf16 x{static_cast<std::uint16_t>(bits)};
    if (is_finite(x)) {
      ASSERT_EQ(to_bf16(to_float(x)), x);
      ASSERT_EQ(to_bf16_up(to_float(x)), x);
    }
  }
}

TEST(ByteReader, GivesZeroAndSaysSoPastTheEnd) {
  const std::array<std::byte, 5> bytes = {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{7}};
  ByteReader reader(bytes);
  EXPECT_EQ(reader.read<std::uint32_t>(), 1u);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.read<std::uint16_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.read<std::uint8_t>(), 0u) << "nothing is read behind a failure";
  ByteReader huge(bytes);
  EXPECT_TRUE(huge.take(~std::uint64_t{0}).empty());
  EXPECT_FALSE(huge.ok());
}

TEST(Hash64, IsXxh3OfTheBytesHoweverTheyArrive) {
  EXPECT_EQ(hash64(std::string_view("")), 0x2d06800538d394c2u);  // XXH3-64 of nothing, seed 0
  Hash64 hash;
  hash.add(std::string_view("lynx"));
  hash.add(std::string_view("kv"));
  EXPECT_EQ(hash.digest(), hash64(std::string_view("lynxkv")));
  EXPECT_EQ(hex64(255), "00000000000000ff");
}

TEST(Error, IsOneLineWithItsPlaceInFront) {
  const Error error(ErrorCode::bad_data, "file\n.gguf", "bad\tthing");
  EXPECT_STREQ(error.what(), "file .gguf: bad thing");
  EXPECT_EQ(exit_code(ErrorCode::usage), 2);
  EXPECT_EQ(exit_code(ErrorCode::bad_data), 3);
  EXPECT_EQ(exit_code(ErrorCode::transport), 4);
  EXPECT_EQ(exit_code(ErrorCode::promise), 5);
  EXPECT_EQ(exit_code(ErrorCode::incomplete), 75);
}

TEST(Result, HoldsAValueOrThrowsItsError) {
  EXPECT_EQ(Result<int>(3).take(), 3);
  EXPECT_THROW(Result<int>(Error(ErrorCode::bad_data, "x", "y")).take(), Error);
}

struct CountedTraits {
  using type = int;
  static inline int closed = 0;
  static int none() { return -1; }
  static void close(int) noexcept { ++closed; }
};

TEST(Handle, ClosesExactlyOnceAcrossMoves) {
  CountedTraits::closed = 0;
  {
    Handle<CountedTraits> a(4);
    Handle<CountedTraits> b(std::move(a));
    EXPECT_FALSE(a);
    a = std::move(b);
    EXPECT_EQ(a.get(), 4);
  }
  EXPECT_EQ(CountedTraits::closed, 1);
}

TEST(Nearest, NamesTheLikeliestMeaning) {
  const std::array<std::string_view, 3> names = {"lynx", "int8", "bf16"};
  EXPECT_EQ(nearest("lynks", names), "lynx");
  EXPECT_EQ(nearest("INT8", names), "int8");
  EXPECT_NE(unknown_name("mode", "bf15", names).find("did you mean 'bf16'?"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv
