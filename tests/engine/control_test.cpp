#include "engine/control.hpp"

#include <gtest/gtest.h>

namespace lynxkv::engine {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

TEST(Control, LaysFieldsOutInOrderLittleEndian) {
  EXPECT_EQ(encode(Ready{0x0102}), bytes({2, 1, 2, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode(End{1, 0}), bytes({2, 9, 1, 0}));
}

TEST(Control, ComesBackAsItWasSent) {
  Assign assign;
  assign.request = 7;
  assign.sample = 1LL << 40;
  assign.mode = 3;
  assign.last = 1;
  const auto back = std::get<Assign>(decode_control(encode(assign)).take());
  EXPECT_EQ(back.sample, 1LL << 40);
  EXPECT_EQ(back.mode, 3);
  EXPECT_EQ(back.last, 1);
  Done done{9, bytes({1, 2, 3})};
  EXPECT_EQ(std::get<Done>(decode_control(encode(done)).take()).row, done.row);
  Sent sent;
  sent.payload_bytes = {1, 2, 1ull << 50};
  sent.encode_s = 0.25;
  EXPECT_EQ(std::get<Sent>(decode_control(encode(sent)).take()).payload_bytes, sent.payload_bytes);
}

TEST(Control, RefusesEveryShorterAndLongerMessage) {
  for (const Control& message : {Control(Assign{}), Control(Sent{}), Control(Resend{}), Control(Done{1, bytes({1, 2})})}) {
    auto good = encode(message);
    for (std::size_t size = 0; size < good.size(); ++size)
      EXPECT_FALSE(decode_control(std::span(good).first(size)).ok()) << size;
    good.push_back(std::byte{0});
    EXPECT_FALSE(decode_control(good).ok());
  }
}

TEST(Control, RefusesUnknownKindsAndVersionsAndLengthsPastTheEnd) {
  EXPECT_FALSE(decode_control(bytes({1, 200})).ok());
  EXPECT_FALSE(decode_control(bytes({9, 1, 0, 0, 0, 0, 0, 0, 0, 0})).ok());
  EXPECT_FALSE(decode_control(bytes({1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255})).ok());
}

}  // namespace
}  // namespace lynxkv::engine
