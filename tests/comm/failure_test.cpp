// What the courier does when a transport or a peer fails: it says so, or ends the job with the transport's code.
#include <gtest/gtest.h>

#include <atomic>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "tests/comm/rig.hpp"
#include "tests/comm/transport_suite.hpp"

namespace lynxkv::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Hands everything on to a loop transport, until told to misbehave.
class Faulty final : public Transport {
 public:
  enum class Fault { none, throws, hangs, never_done };
  Faulty(std::unique_ptr<Transport> inner, std::shared_ptr<std::atomic<Fault>> fault)
      : inner_(std::move(inner)), fault_(std::move(fault)) {}
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::string_view name() const noexcept override { return "faulty"; }
  std::size_t max_message_bytes() const noexcept override { return inner_->max_message_bytes(); }
  Ticket post(Channel channel, int peer, std::span<const std::byte> bytes) override {
    return inner_->post(channel, peer, bytes);
  }
  bool test(Ticket ticket) override { return *fault_ != Fault::never_done && inner_->test(ticket); }
  bool poll(Message& out) override {
    if (*fault_ == Fault::throws) throw Error(ErrorCode::transport, "MPI_Improbe", "the network is gone");
    while (*fault_ == Fault::hangs) std::this_thread::sleep_for(milliseconds(10));
    return inner_->poll(out);
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  std::unique_ptr<Transport> inner_;
  std::shared_ptr<std::atomic<Fault>> fault_;
};

using Fault = Faulty::Fault;

LinkOptions impatient() {
  LinkOptions options;
  options.stall_seconds = 0.5;
  options.close_seconds = 0.2;
  return options;
}

TEST(Failure, OfTheTransportComesOutOfReceiveWaitAndFlush) {
  auto fault = std::make_shared<std::atomic<Fault>>(Fault::none);
  auto ranks = make_loop(1);
  Courier courier(std::make_unique<Faulty>(std::move(ranks[0]), fault), test_options());
  *fault = Fault::throws;
  const auto fails = [](const auto& call) {
    try {
      call();
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::transport);
      EXPECT_NE(std::string(error.what()).find("the network is gone"), std::string::npos);
      return true;
    }
  };
  EXPECT_TRUE(fails([&] { courier.wait(seconds(20)); }));
  Message message;
  EXPECT_TRUE(fails([&] { courier.receive(message); }));
  EXPECT_TRUE(fails([&] { courier.flush(seconds(20)); }));
}

// Without the word that it is of no use any more, what is not through is waited for until the watchdog ends the job.
TEST(Abandoned, LeavesSoonWithWhatIsNotThroughAndItsLastWordIsStillSaid) {
  auto fault = std::make_shared<std::atomic<Fault>>(Fault::none);
  auto ranks = make_loop(2);
  Courier peer(std::move(ranks[1]), test_options());
  const std::int64_t begun = now_ns();
  {
    Courier courier(std::make_unique<Faulty>(std::move(ranks[0]), fault), test_options());
    *fault = Fault::never_done;
    for (int i = 0; i < 8; ++i) courier.send({Channel::residual, 1, 7, std::vector<std::byte>(100'000)});
    courier.send({Channel::control, 1, 0, std::vector<std::byte>(3)});
    courier.abandon();
  }
  EXPECT_LT(seconds_between(begun, now_ns()), 5);
  bool heard = false;
  for (Message message; !heard && peer.receive(message);) heard = message.channel == Channel::control;
  EXPECT_TRUE(heard);
}

TEST(Priority, HoldsResidualsBackUntilAPostedAnchorIsThrough) {
  auto fault = std::make_shared<std::atomic<Fault>>(Fault::never_done);
  auto ranks = make_loop(2);
  Courier one(std::make_unique<Faulty>(std::move(ranks[0]), fault), test_options());
  Courier two(std::move(ranks[1]), test_options());
  one.send({Channel::anchor, 1, 1, std::vector<std::byte>(100), false});
  one.send({Channel::residual, 1, 1, std::vector<std::byte>(100), false});
  EXPECT_EQ(suite::Party(two).receive_one().channel, Channel::anchor);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(one.totals(Channel::residual).sent_messages, 0u);
  *fault = Fault::none;
  EXPECT_EQ(suite::Party(two).receive_one().channel, Channel::residual);
}

// The stalls end the process, so they run in one of their own.
class Stall : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(Stall, OfAPeerThatTakesNothingEndsTheJobAndSaysWhatIsWaitedFor) {
  EXPECT_EXIT(
      {
        auto ranks = make_loop(2);
        Courier courier(std::move(ranks[0]), impatient());
        courier.progress("sending pages");
        for (int i = 0; i < 20; ++i) courier.send({Channel::residual, 1, 1, std::vector<std::byte>(100'000), false});
        std::this_thread::sleep_for(seconds(20));
      },
      testing::ExitedWithCode(4),
      "nothing has moved with rank 1 for .* in phase 'sending pages'(.|\n)*residual unacknowledged");
}

TEST_F(Stall, OfAPostThatNeverEndsEndsTheJob) {
  EXPECT_EXIT(
      {
        auto fault = std::make_shared<std::atomic<Fault>>(Fault::never_done);
        auto ranks = make_loop(2);
        Courier courier(std::make_unique<Faulty>(std::move(ranks[0]), fault), impatient());
        courier.send({Channel::anchor, 1, 1, std::vector<std::byte>(100), false});
        std::this_thread::sleep_for(seconds(20));
      },
      testing::ExitedWithCode(4), "channel anchor: 1 messages posted and not through");
}

TEST_F(Stall, OfAPeerThatOwesAMessageEndsTheJob) {
  EXPECT_EXIT(
      {
        auto ranks = make_loop(2);
        Courier courier(std::move(ranks[0]), impatient());
        courier.expect_messages(true);
        std::this_thread::sleep_for(seconds(20));
      },
      testing::ExitedWithCode(4), "something is waited for(.|\n)*messages are owed to this rank");
}

TEST_F(Stall, OfATransportThatDoesNotReturnEndsTheJob) {
  EXPECT_EXIT(
      {
        auto fault = std::make_shared<std::atomic<Fault>>(Fault::none);
        auto ranks = make_loop(1);
        Courier courier(std::make_unique<Faulty>(std::move(ranks[0]), fault), impatient());
        std::this_thread::sleep_for(milliseconds(100));
        *fault = Fault::hangs;
        std::this_thread::sleep_for(seconds(20));
      },
      testing::ExitedWithCode(4), "transport faulty has not returned");
}

TEST_F(Stall, IsNotSeenWhileAPeerComputes) {
  auto ranks = make_loop(2);
  Courier one(std::move(ranks[0]), impatient());
  Courier two(std::move(ranks[1]), impatient());
  one.expect_messages(true);
  for (int i = 0; i < 15; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    two.progress("prefill");  // no message, but it makes steps
  }
  two.send({Channel::control, 0, 0, {}, false});
  suite::Party(one).receive_one();
  one.expect_messages(false);
}

TEST_F(Stall, IsNotSeenWhileNothingIsOwed) {
  auto ranks = make_loop(2);
  Courier one(std::move(ranks[0]), impatient());
  std::this_thread::sleep_for(milliseconds(1500));
}

}  // namespace
}  // namespace lynxkv::comm
