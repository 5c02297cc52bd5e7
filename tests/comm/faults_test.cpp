// Faults on purpose: what heals by itself, and what ends with an error that names it. Never a hang.
#include <gtest/gtest.h>

#include "comm/courier_frames.hpp"
#include "comm/faults.hpp"
#include "tests/comm/rig.hpp"
#include "tests/comm/transport_suite.hpp"

namespace lynxkv::comm {
namespace {

using std::chrono::seconds;

LinkOptions faulty(double flip, double drop, double delay_ms = 0, double stall_s = 0) {
  LinkOptions options = test_options();
  options.faults = {flip, drop, delay_ms, stall_s, false, 7};
  return options;
}

// How many of `count` messages came, and how many of them damaged.
struct Came {
  int messages = 0, damaged = 0;
};
Came send_many(const LinkOptions& options, Channel channel, int count) {
  auto ranks = make_loop(2);
  Courier one(std::move(ranks[0]), options), two(std::move(ranks[1]), options);
  const auto expected = suite::pattern(0, 1, 1, 1000);
  for (int i = 0; i < count; ++i) one.send({channel, 1, 1, expected, false});
  one.send({Channel::control, 1, 1, suite::Party::meeting(), false});
  one.flush(seconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Came came;
  for (Message message; two.receive(message);) {
    if (message.channel == Channel::control) continue;
    ++came.messages;
    came.damaged += message.bytes == expected ? 0 : 1;
  }
  return came;
}

TEST(Faults, FlipOneBitOfSomeMessages) {
  const Came came = send_many(faulty(0.1, 0), Channel::anchor, 1000);
  EXPECT_EQ(came.messages, 1000);
  EXPECT_GT(came.damaged, 50);
  EXPECT_LT(came.damaged, 200);
}

TEST(Faults, AreTheSameForTheSameSeed) {
  const Came once = send_many(faulty(0.1, 0.1), Channel::anchor, 500), again = send_many(faulty(0.1, 0.1), Channel::anchor, 500);
  EXPECT_EQ(once.messages, again.messages);
  EXPECT_EQ(once.damaged, again.damaged);
}

TEST(Faults, ThatLoseResidualsDoNotEatTheirCredits) {
  // Each message is lost with one chance in five, the last ones too: flush() still ends.
  const Came came = send_many(faulty(0, 0.2), Channel::residual, 1000);
  EXPECT_GT(came.messages, 700);
  EXPECT_LT(came.messages, 900);
}

TEST(Faults, ThatLoseEverythingEndByTheSendersWord) {
  const Came came = send_many(faulty(0, 1), Channel::residual, 3);
  EXPECT_EQ(came.messages, 0);
}

TEST(Faults, OfDelayKeepTheOrderAndLoseNothing) {
  on_each_rank(2, faulty(0, 0, 3), suite::everything);
}

TEST(Faults, OfDelayOnAnEmulatedLinkLoseNothing) {
  LinkOptions options = faulty(0, 0, 2);
  options.gbps = 5;
  on_each_rank(2, options, [](Courier& courier) {
    suite::Party party(courier);
    suite::tiny_messages_are_joined(party);
    party.meet();
  });
}

TEST(Faults, ThatFlipAnEmulatedDepartureDelayNothingForEver) {
  LinkOptions options = faulty(1, 0);
  options.gbps = 1;
  EXPECT_EQ(send_many(options, Channel::residual, 50).messages, 50);
}

TEST(Faults, OfControlMessagesAreFoundAndEndTheJob) {
  for (const bool flip : {false, true}) {
    LinkOptions options = faulty(flip ? 0.2 : 0, flip ? 0 : 0.2);
    options.faults.control = true;
    options.close_seconds = 0.2;
    auto ranks = make_loop(2);
    Courier one(std::move(ranks[0]), options), two(std::move(ranks[1]), test_options());
    for (int i = 0; i < 200; ++i) two.send({Channel::control, 0, 0, suite::pattern(1, 0, i, 100), false});
    std::string what;
    int came = 0;
    try {
      for (Message message; came < 200; one.wait(std::chrono::milliseconds(10)))
        while (one.receive(message)) {
          EXPECT_EQ(message.bytes, suite::pattern(1, 0, came, 100));  // in order and whole, as far as they came
          ++came;
        }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::transport);
      what = error.what();
    }
    EXPECT_LT(came, 200);
    EXPECT_NE(what.find("control messages were lost"), std::string::npos) << what;
  }
}

TEST(Seal, OfAControlMessageShowsEveryFlippedBit) {
  std::vector<std::byte> bytes = to_bytes({FrameType::receipt, 5, 0});
  const std::vector<std::byte> content = bytes;
  seal_control(bytes, 17);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    EXPECT_FALSE(open_control(damaged).ok());
  }
  const auto number = open_control(bytes);
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(number.value(), 17u);
  EXPECT_EQ(bytes, content);
  std::vector<std::byte> empty;
  EXPECT_FALSE(open_control(empty).ok());
}

TEST(Seal, OfDataIsTakenOffAndShowsEveryFlippedBitOfItsOwn) {
  std::vector<std::byte> bytes(10);
  seal_data(bytes, {123456789, 42});
  for (std::size_t bit = 80; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    EXPECT_FALSE(open_data(damaged).ok());
    EXPECT_EQ(damaged.size(), 10u);
  }
  const auto seal = open_data(bytes);
  ASSERT_TRUE(seal.ok());
  EXPECT_EQ(seal.value().number, 42u);
  EXPECT_EQ(seal.value().departed_ns, 123456789);
  std::vector<std::byte> stub(5);
  EXPECT_FALSE(open_data(stub).ok());
  EXPECT_TRUE(stub.empty());
}

}  // namespace
}  // namespace lynxkv::comm
