// Couriers over the in-process loop: emulated links, priority, and how they end. Times are compared with generous
// bounds: other programs may run beside the tests.
#include "comm/courier.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>

#include "tests/comm/rig.hpp"
#include "tests/comm/transport_suite.hpp"

namespace lynxkv::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Pair {
  explicit Pair(const LinkOptions& options) {
    auto ranks = make_loop(2);
    one = std::make_unique<Courier>(std::move(ranks[0]), options);
    two = std::make_unique<Courier>(std::move(ranks[1]), options);
  }
  std::unique_ptr<Courier> one, two;
};

Parcel stamped(Channel channel, std::uint64_t request, std::size_t bytes, int peer = 1) {
  Parcel parcel{channel, peer, request, std::vector<std::byte>(bytes), false};
  const std::int64_t now = now_ns();
  std::memcpy(parcel.bytes.data(), &now, sizeof now);
  return parcel;
}

double age_ms(const Message& message) {
  std::int64_t sent_ns = 0;
  std::memcpy(&sent_ns, message.bytes.data(), sizeof sent_ns);
  return static_cast<double>(message.arrived_ns - sent_ns) * 1e-6;
}

Message receive(Courier& courier) { return suite::Party(courier).receive_one(); }

// From the first send to the last arrival of `pieces` messages, on a fresh pair.
double transfer_ms(const LinkOptions& options, Channel channel, int pieces, std::size_t bytes) {
  Pair pair(options);
  const std::int64_t began_ns = now_ns();
  for (int i = 0; i < pieces; ++i) pair.one->send(stamped(channel, 1, bytes));
  std::int64_t last_ns = 0;
  for (int i = 0; i < pieces; ++i) last_ns = receive(*pair.two).arrived_ns;
  return static_cast<double>(last_ns - began_ns) * 1e-6;
}

TEST(EmulatedLink, TakesTheTimeOfItsRate) {
  LinkOptions options = test_options();
  options.gbps = 1;
  // 100 messages of half a millisecond.
  const double took_ms = best_of(8, [&] { return transfer_ms(options, Channel::anchor, 100, 62'500); });
  EXPECT_GE(took_ms, 50.0);
  EXPECT_LT(took_ms, 95.0);
}

TEST(EmulatedLink, IsKeptBusyByResidualsToo) {
  LinkOptions options = test_options();
  options.gbps = 1;
  constexpr int pieces = 200;
  constexpr std::size_t bytes = 64'000;
  const double ideal_ms = pieces * bytes * 8e-6;
  const double took_ms = best_of(5, [&] { return transfer_ms(options, Channel::residual, pieces, bytes); });
  std::printf("residuals on an emulated 1 Gbit/s: %.1f %% of it\n", 100 * ideal_ms / took_ms);
  EXPECT_GE(took_ms, ideal_ms);
  EXPECT_LT(took_ms, ideal_ms * 1.5);
}

TEST(EmulatedLink, AddsItsLatencyOnce) {
  LinkOptions options = test_options();
  options.latency_us = 20'000;
  Pair pair(options);
  const auto takes_ms = [&](Channel channel) {
    return best_of(5, [&] {
      pair.one->send(stamped(channel, 1, 100));
      return age_ms(receive(*pair.two));
    });
  };
  const double data_ms = takes_ms(Channel::anchor);
  EXPECT_GE(data_ms, 20.0);
  EXPECT_LT(data_ms, 35.0);
  EXPECT_LT(takes_ms(Channel::control), 15.0);  // control is not slowed
}

TEST(EmulatedLink, IsSharedByThoseWhoSendToOneRank) {
  LinkOptions options = test_options();
  options.gbps = 1;
  constexpr int pieces = 50;
  constexpr std::size_t bytes = 62'500;
  on_each_rank(3, options, [&](Courier& courier) {
    if (courier.rank() < 2) {
      for (int i = 0; i < pieces; ++i) courier.send(stamped(Channel::anchor, 1, bytes, 2));
      courier.flush(seconds(20));
      return;
    }
    const std::int64_t first_ns = receive(courier).arrived_ns;
    std::int64_t last_ns = 0;
    for (int i = 1; i < 2 * pieces; ++i) last_ns = receive(courier).arrived_ns;
    EXPECT_GT(static_cast<double>(last_ns - first_ns) * 1e-6, 46.0);  // 100 x 0.5 ms, less the slack
  });
}

TEST(EmulatedLink, CarriesAMessageToOneselfAsAnyOther) {
  LinkOptions options = test_options();
  options.gbps = 1;
  on_each_rank(1, options, [](Courier& courier) {
    courier.send(stamped(Channel::anchor, 1, 1'250'000, 0));  // 10 ms
    EXPECT_GE(age_ms(suite::Party(courier).receive_one()), 10.0);
  });
}

// While residuals flood a link of 1 Gbit/s, an urgent anchor waits for its own time and a part of a chunk. Told in
// bytes, whatever else the machine does: of the residuals that the wire had not taken when the anchor was sent, no
// more than one parcel goes first.
TEST(Priority, OfAnchorsHoldsUnderAFloodOfResiduals) {
  LinkOptions options = test_options();
  options.gbps = 1;
  Pair pair(options);
  constexpr std::size_t urgent_bytes = 32 * 1024;
  const std::size_t piece = pair.one->good_parcel_bytes();
  for (int i = 0; i < 1500; ++i) pair.one->send(stamped(Channel::residual, 5, piece));  // 0.77 s
  std::vector<double> took_ms;
  std::uint64_t residual_bytes = 0;
  for (int i = 0; i < 31 && pair.one->waiting_bytes(Channel::residual) > 0; ++i) {
    pair.one->send(stamped(Channel::anchor, 9, urgent_bytes));
    // Read after the anchor was queued: what the wire took in between counts for the anchor, never against it.
    const std::uint64_t taken_bytes = pair.one->totals(Channel::residual).sent_bytes;
    while (true) {
      const Message message = receive(*pair.two);
      if (message.channel == Channel::residual) {
        residual_bytes += message.bytes.size();
        continue;
      }
      took_ms.push_back(age_ms(message));
      EXPECT_LE(residual_bytes, taken_bytes + piece);
      break;
    }
    std::this_thread::sleep_for(milliseconds(3));
  }
  ASSERT_GT(took_ms.size(), 5u) << "the flood ended too early to prove anything";
  std::sort(took_ms.begin(), took_ms.end());
  const double own_ms = urgent_bytes * 8e-6;
  const double chunk_ms = static_cast<double>(options.residual_chunk_bytes) * 8e-6;
  std::printf("urgent 32 KiB under a flood: %.2f ms at best, %.2f at the median, %.2f at most; own time %.2f, a chunk %.2f\n",
              took_ms.front(), took_ms[took_ms.size() / 2], took_ms.back(), own_ms, chunk_ms);
  EXPECT_LT(took_ms.front(), 1.3 * own_ms + chunk_ms);
  pair.one->forget(5);
}

TEST(Priority, OfAHurriedResidualEqualsAnAnchors) {
  LinkOptions options = test_options();
  options.gbps = 0.1;
  Pair pair(options);
  for (int i = 0; i < 20; ++i) pair.one->send(stamped(Channel::residual, 5, 12'500));  // 1 ms each
  for (int i = 0; i < 20; ++i) pair.one->send(stamped(Channel::anchor, 9, 12'500));
  pair.one->send(stamped(Channel::residual, 6, 12'501));
  pair.one->hurry(6);
  // Request 6 is older than the anchors of request 9: it passes those that still wait.
  int anchors_before = 0;
  bool seen = false;
  for (int i = 0; i < 41; ++i) {
    const Message message = receive(*pair.two);
    anchors_before += message.channel == Channel::anchor && !seen;
    seen |= message.bytes.size() == 12'501;
  }
  EXPECT_TRUE(seen);
  EXPECT_LT(anchors_before, 15);
}

TEST(Priority, GivesOlderRequestsTheWireFirst) {
  LinkOptions options = test_options();
  options.gbps = 0.1;
  Pair pair(options);
  for (const std::uint64_t request : {7u, 7u, 7u, 3u}) {
    Parcel parcel = stamped(Channel::anchor, request, 1'250'000);  // 100 ms each
    parcel.bytes[8] = static_cast<std::byte>(request);
    pair.one->send(std::move(parcel));
    while (pair.one->totals(Channel::anchor).sent_messages == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  std::string order;
  for (int i = 0; i < 4; ++i) order += std::to_string(std::to_integer<int>(receive(*pair.two).bytes[8]));
  EXPECT_EQ(order, "7377");  // the first was on the wire already
}

TEST(Courier, ForgetsWhatIsNotPostedYet) {
  LinkOptions options = test_options();
  options.gbps = 0.1;
  Pair pair(options);
  for (int i = 0; i < 100; ++i) pair.one->send(stamped(Channel::residual, 5, 125'000));
  EXPECT_GT(pair.one->waiting_bytes(Channel::residual), 0u);
  pair.one->forget(5);
  EXPECT_EQ(pair.one->waiting_bytes(Channel::residual), 0u);
  const std::uint64_t left = pair.one->totals(Channel::residual).sent_messages;
  EXPECT_LT(left, 100u);
  pair.one->send(stamped(Channel::anchor, 6, 100));
  while (receive(*pair.two).channel != Channel::anchor) {
  }
  pair.one->flush(seconds(10));
  EXPECT_EQ(pair.two->totals(Channel::residual).received_messages, left);
}

TEST(Courier, FlushSaysThatItsTimeIsUp) {
  LinkOptions options = test_options();
  options.gbps = 0.001;
  Pair pair(options);
  pair.one->send(stamped(Channel::anchor, 1, 100'000));  // 0.8 s
  EXPECT_THROW(pair.one->flush(seconds(0)), Error);
}

TEST(Courier, FlushWaitsForWhatIsOnTheWireAndForReceipts) {
  LinkOptions options = test_options();
  options.gbps = 0.01;
  Pair pair(options);
  pair.one->send(stamped(Channel::residual, 1, 100'000));  // 80 ms
  pair.one->flush(seconds(20));
  EXPECT_EQ(pair.two->totals(Channel::residual).received_messages, 1u);
}

TEST(Courier, WaitEndsByNotifyAndByTheClock) {
  Pair pair(test_options());
  std::thread waker([&] {
    std::this_thread::sleep_for(milliseconds(20));
    pair.one->notify();
  });
  const std::int64_t began_ns = now_ns();
  pair.one->wait(seconds(20));
  EXPECT_LT(seconds_between(began_ns, now_ns()), 10.0);
  waker.join();
  pair.one->wait(milliseconds(1));
}

// A message crosses two sleeping threads: seen within a fraction of a millisecond, and waiting costs nearly nothing.
TEST(Courier, SleepsAndStillSeesAMessageSoon) {
  Pair pair(test_options());
  std::this_thread::sleep_for(milliseconds(20));
  std::vector<double> took_ms;
  for (int i = 0; i < 101; ++i) {
    pair.one->send(stamped(Channel::control, 1, 64));
    took_ms.push_back(age_ms(receive(*pair.two)));
    std::this_thread::sleep_for(milliseconds(3));
  }
  std::sort(took_ms.begin(), took_ms.end());
  const auto cpu_s = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double before_s = cpu_s();
  std::this_thread::sleep_for(milliseconds(1000));
  const double idle_share = (cpu_s() - before_s) / 2;
  std::printf("control message: %.3f ms at the median, %.3f at the 90th percentile; an idle rank takes %.1f %% of a core\n",
              took_ms[50], took_ms[90], 100 * idle_share);
  EXPECT_LT(took_ms[50], 0.5);
  EXPECT_LT(idle_share, 0.25);
}

TEST(Closing, LosesNothingThatWasSent) {
  auto ranks = make_loop(2);
  auto one = std::make_unique<Courier>(std::move(ranks[0]), test_options());
  auto two = std::make_unique<Courier>(std::move(ranks[1]), test_options());
  for (int i = 0; i < 300; ++i) {
    one->send(stamped(Channel::residual, 1, 60'000));
    one->send(stamped(Channel::anchor, 1, 60'000));
    one->send(stamped(Channel::control, 1, 100));
  }
  std::thread closer([&] { one.reset(); });
  int received = 0;
  for (Message message; received < 900; ++received) receive(*two);
  EXPECT_EQ(received, 900);
  closer.join();
}

TEST(Closing, InEitherOrderNeedsNoWaiting) {
  for (int first = 0; first < 2; ++first) {
    LinkOptions options = test_options();
    options.close_seconds = 60;
    Pair pair(options);
    pair.one->send(stamped(Channel::anchor, 1, 100));
    receive(*pair.two);
    const std::int64_t began_ns = now_ns();
    (first == 0 ? pair.one : pair.two).reset();
    (first == 0 ? pair.two : pair.one).reset();
    EXPECT_LT(seconds_between(began_ns, now_ns()), 10.0);
  }
}

TEST(Closing, DropsWhatIsSentToARankThatHasClosed) {
  Pair pair(test_options());
  pair.two.reset();
  for (int i = 0; i < 10; ++i) pair.one->send(stamped(Channel::residual, 1, 100'000));
  pair.one->flush(seconds(10));
  Message message;
  EXPECT_FALSE(pair.one->receive(message));
}

TEST(Closing, WhileAnExceptionUnwindsIsToldToThePeers) {
  Pair pair(test_options());
  pair.two->send(stamped(Channel::control, 1, 100, 0));
  receive(*pair.one);
  pair.one->send(stamped(Channel::control, 1, 100));
  std::this_thread::sleep_for(milliseconds(50));
  try {
    const std::unique_ptr<Courier> held = std::move(pair.one);
    throw Error(ErrorCode::bad_data, "test", "on purpose");
  } catch (const Error&) {
  }
  EXPECT_EQ(receive(*pair.two).bytes.size(), 100u);  // what came before is still handed out
  try {
    receive(*pair.two);
    FAIL() << "a peer failed and nothing was said";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport);
    EXPECT_EQ(error.where(), "rank 0");
  }
}

}  // namespace
}  // namespace lynxkv::comm
