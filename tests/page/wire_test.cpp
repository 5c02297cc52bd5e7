// The wire header against bytes written by hand (checksums from the reference implementation of XXH3), then
// against damage: every flipped bit, every cut, every field out of its range.
#include "page/wire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>

namespace lynxkv::page {
namespace {

// Stream anchor of codec `lynx`: request 0x0102030405060708, page 2, value tensor of layer 29, 7 tokens.
constexpr std::array<unsigned char, 80> golden_last_fragment = {
    0x4c, 0x4b, 0x56, 0x50, 0x01, 0x00, 0xbe, 0xc3,  // "LKVP", version 1, anchor, codec tag
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  // request
    0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // sequence 9
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00,  // page 2, first position 512
    0x1d, 0x00, 0x07, 0x00, 0xc0, 0x00, 0x00, 0x00,  // layer 29, 7 tokens, 192 channels
    0xcd, 0xcc, 0x4c, 0x3d, 0x01, 0x02, 0x70, 0x00,  // alpha 0.05, value, last, 112 levels, log
    0x04, 0x00, 0x20, 0x00, 0x40, 0x00, 0x00, 0x01,  // 4 sinks, attempt 0, chunks of 32, heads of 64, pages of 256
    0x05, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00,  // generation 5, payload of 10 bytes
    0x04, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00,  // fragment: 6 bytes from offset 4
    0x4b, 0x83, 0x2d, 0x1d, 0x8c, 0xd6, 0xf8, 0xd0,  // checksum
};
// Residual of codec `bf16`, raw and therefore empty, second resend.
constexpr std::array<unsigned char, 80> golden_empty_payload = {
    0x4c, 0x4b, 0x56, 0x50, 0x01, 0x01, 0xec, 0xe7,  //
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0x00, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00,  //
    0x00, 0x00, 0x00, 0x40, 0x00, 0x01, 0x78, 0x01,  // alpha 2, key, raw, 120 levels, linear
    0x00, 0x02, 0x20, 0x00, 0x02, 0x00, 0x20, 0x00,  // no sinks, attempt 2
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0x9c, 0x42, 0x06, 0xc9, 0xe6, 0xca, 0x36, 0xdc,  //
};

WireHeader last_fragment() {
  WireHeader h;
  h.codec = wire_codec("lynx");
  h.request = 0x0102030405060708u;
  h.sequence = 9;
  h.page = 2;
  h.first_position = 512;
  h.layer = 29;
  h.tokens = 7;
  h.channels = 192;
  h.alpha = 0.05f;
  h.kind = Kind::value;
  h.last = true;
  h.levels = 112;
  h.sinks = 4;
  h.chunk_tokens = 32;
  h.head_dim = 64;
  h.page_tokens = 256;
  h.generation = 5;
  h.payload_bytes = 10;
  h.fragment_offset = 4;
  h.fragment_bytes = 6;
  return h;
}

std::vector<std::byte> fragment_of_six() {
  return {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{6}};
}

std::vector<std::byte> frame() {
  std::vector<std::byte> out;
  append_frame(last_fragment(), fragment_of_six(), out);
  return out;
}

// A frame whose field at `offset` was replaced before the checksum was made: only the range check can refuse it.
template <class T>
std::string refusal_with(std::size_t offset, T value) {
  auto bytes = frame();
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  const auto parsed = parse_header(bytes);
  return parsed.ok() ? "" : parsed.error().what();
}

TEST(Wire, WritesTheGoldenHeaderOfALastFragment) {
  const auto bytes = frame();
  ASSERT_EQ(bytes.size(), 86u);
  for (std::size_t i = 0; i < 80; ++i)
    EXPECT_EQ(std::to_integer<int>(bytes[i]), golden_last_fragment[i]) << "byte " << i;
}

TEST(Wire, ReadsTheGoldenHeaderOfALastFragment) {
  std::vector<std::byte> bytes(80);
  std::memcpy(bytes.data(), golden_last_fragment.data(), 80);
  for (const std::byte b : fragment_of_six()) bytes.push_back(b);
  const auto parsed = parse_header(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().what();
  WireHeader expected = last_fragment();
  expected.checksum = 0xd0f8d68c1d2d834bu;
  EXPECT_EQ(parsed.value(), expected);
  EXPECT_TRUE(checksum_holds(parsed.value(), bytes));
}

TEST(Wire, ReadsTheGoldenHeaderOfAnEmptyPayload) {
  std::vector<std::byte> bytes(80);
  std::memcpy(bytes.data(), golden_empty_payload.data(), 80);
  const auto parsed = parse_header(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().what();
  EXPECT_TRUE(parsed.value().raw);
  EXPECT_FALSE(parsed.value().last);
  EXPECT_EQ(parsed.value().stream, 1);
  EXPECT_EQ(parsed.value().attempt, 2);
  EXPECT_EQ(parsed.value().sigma, 1);
  EXPECT_EQ(parsed.value().payload_bytes, 0u);
  EXPECT_TRUE(checksum_holds(parsed.value(), bytes));
  std::vector<std::byte> again;
  append_frame(parsed.value(), {}, again);
  EXPECT_EQ(again, bytes);
}

TEST(Wire, FindsTheNextFrameBehindTheFirst) {
  auto bytes = frame();
  WireHeader second = last_fragment();
  second.sequence = 10;
  append_frame(second, fragment_of_six(), bytes);
  const auto first = parse_header(bytes);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(checksum_holds(first.value(), bytes));
  const auto rest = std::span<const std::byte>(bytes).subspan(wire_header_bytes + first.value().fragment_bytes);
  const auto next = parse_header(rest);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next.value().sequence, 10u);
  EXPECT_TRUE(checksum_holds(next.value(), rest));
}

TEST(Wire, NoticesEveryFlippedBit) {
  const auto good = frame();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    const auto parsed = parse_header(bytes);
    EXPECT_FALSE(parsed.ok() && checksum_holds(parsed.value(), bytes)) << "bit " << bit;
  }
}

TEST(Wire, RefusesEveryCutFrame) {
  const auto good = frame();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(parse_header(cut).ok()) << size << " bytes";
  }
}

TEST(Wire, RefusesFieldsOutOfRangeAndNamesThem) {
  EXPECT_NE(refusal_with<std::uint8_t>(0, 'X').find("LKVP"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint8_t>(4, 2).find("version 2"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint8_t>(5, 3).find("stream 3"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint16_t>(34, 0).find("0 tokens"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint16_t>(34, 257).find("257 tokens"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint32_t>(36, 0).find("0 channels"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint32_t>(36, 193).find("193 channels"), std::string::npos);
  EXPECT_NE(refusal_with<float>(40, std::numeric_limits<float>::quiet_NaN()).find("alpha"), std::string::npos);
  EXPECT_NE(refusal_with<float>(40, 0.0f).find("alpha"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint8_t>(44, 2).find("kind 2"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint8_t>(45, 4).find("flags 0x04"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint8_t>(47, 2).find("sigma mode 2"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint16_t>(50, 0).find("chunks of 0"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint16_t>(52, 0).find("head dimension 0"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint16_t>(54, 0).find("page of 0"), std::string::npos);
}

TEST(Wire, RefusesFragmentsOutsideTheirPayloadWithoutOverflow) {
  EXPECT_NE(refusal_with<std::uint32_t>(64, 5).find("outside"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint32_t>(64, 0xffffffffu).find("outside"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint32_t>(68, 0xffffffffu).find("outside"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint32_t>(60, 3).find("outside"), std::string::npos);
  EXPECT_NE(refusal_with<std::uint32_t>(68, 0).find("empty fragment"), std::string::npos);
}

TEST(Wire, RefusesAFragmentLongerThanTheMessage) {
  auto bytes = frame();
  const std::uint32_t huge = 0xfffffff0u;
  std::memcpy(bytes.data() + 60, &huge, 4);
  const std::uint32_t fragment = 0xff000000u;
  std::memcpy(bytes.data() + 68, &fragment, 4);
  const auto parsed = parse_header(bytes);
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(std::string(parsed.error().what()).find("only 6 follow"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv::page
