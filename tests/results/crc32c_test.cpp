#include "results/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lynxkv::results {
namespace {

std::uint32_t crc_of(const std::string& text) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(Crc32c, GivesTheCheckValueOfTheStandard) {
  EXPECT_EQ(crc_of("123456789"), 0xe3069283u);
}

TEST(Crc32c, GivesTheVectorsOfTheIscsiStandard) {
  EXPECT_EQ(crc_of(""), 0u);
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising(32, '\0');
  for (int i = 0; i < 32; ++i) rising[static_cast<std::size_t>(i)] = static_cast<char>(i);
  EXPECT_EQ(crc_of(rising), 0x46dd794eu);
}

TEST(Crc32c, OfEveryLengthEqualsTheBitByBitDefinition) {
  std::string text;
  for (int length = 0; length < 70; ++length) {
    std::uint32_t crc = 0xffffffffu;
    for (const char c : text) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    EXPECT_EQ(crc_of(text), ~crc) << length;
    text += static_cast<char>(length * 37 + 11);
  }
}

}  // namespace
}  // namespace lynxkv::results
