// The NCCL transport on the doubles, a thread for each rank: the suite that every transport passes, and what is its own.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error.hpp"
#include "tests/comm/transport_suite.hpp"
#include "tests/cuda_emulation/nccl_double/carriers.hpp"
#include "tests/cuda_emulation/nccl_double/rig.hpp"

namespace lynxkv::comm {
namespace {

using cuda_emulation::Order;
using nccl_double::Carrier;
using nccl_double::OnDoubles;
using Nccl = OnDoubles;

TEST_F(Nccl, PassesTheTransportSuiteAlone) { on_each_rank(1, suite::everything); }
TEST_F(Nccl, PassesTheTransportSuiteWithTwoRanks) { on_each_rank(2, suite::everything); }
TEST_F(Nccl, PassesTheTransportSuiteWithFourRanks) { on_each_rank(4, suite::everything); }

TEST_F(Nccl, PassesTheTransportSuiteWhateverTheGpuRunsFirst) {
  for (std::uint64_t seed = 2; seed <= 4; ++seed)
    for (const Order order : {Order::drawn, Order::late, Order::others_first}) {
      fresh(seed, order);
      on_each_rank(2, suite::everything);
    }
}

TEST_F(Nccl, HasACommunicatorForEachRouteAndClass) {
  NcclOptions options = small();
  options.routes = {{0, 1}, {0, 2}};
  on_each_transport(3, options, [](Transport& transport) { meet(transport); });
  std::set<std::string> names;
  for (const auto& info : nccl_double::communicators()) {
    names.insert(info.name);
    EXPECT_EQ(info.ranks, 2);
    EXPECT_FALSE(info.blocking);
    EXPECT_EQ(info.max_ctas, 4);
    const bool anchor = info.name.find("anchor") != std::string::npos;
    EXPECT_EQ(info.traffic_class, anchor ? 104 : 32);
    EXPECT_EQ(info.stream_priority, anchor ? -5 : 0) << "the highest and the lowest of the GPU";
    EXPECT_EQ(info.state, "destroyed");
  }
  EXPECT_EQ(names, (std::set<std::string>{"lynxkv anchor 0 to 1", "lynxkv residual 0 to 1", "lynxkv anchor 0 to 2", "lynxkv residual 0 to 2"}));
}

TEST_F(Nccl, RefusesDataWhereNoRouteGoes) {
  NcclOptions options = small();
  options.routes = {{0, 1}};
  on_each_transport(2, options, [](Transport& transport) {
    const std::vector<std::byte> bytes(10);
    if (transport.rank() == 1) {
      EXPECT_THROW(transport.post(Channel::anchor, 0, bytes), Error);
    }
    meet(transport);
  });
}

// A receiver that does not read: what is on the way is bounded, and all of it comes when it reads.
TEST_F(Nccl, LeavesAPostIncompleteUntilTheReceiverHasRoom) {
  on_each_transport(2, small(), [](Transport& transport) {
    const std::vector<std::byte> bytes(transport.max_message_bytes(), std::byte{1});
    EXPECT_EQ(bytes.size(), std::size_t{1} << 19);
    if (transport.rank() == 0) {
      std::vector<Ticket> tickets;
      for (int i = 0; i < 6; ++i) tickets.push_back(transport.post(Channel::residual, 1, bytes));
      meet(transport);
      while (!transport.test(tickets[1])) std::this_thread::yield();
      for (int i = 0; i < 2000; ++i) EXPECT_FALSE(transport.test(tickets[5])) << "there is room for two";
      meet(transport);
      while (!transport.test(tickets[5])) std::this_thread::yield();
    } else {
      meet(transport);
      meet(transport);
      for (int left = 6; left > 0; --left) ASSERT_TRUE(next(transport));
    }
  });
}

// Two senders, two receivers, and announcements and grants that come in orders that lie across each other. Streams that
// carried several routes in those orders could never end (the double shows it, misuse_test.cpp).
TEST_F(Nccl, EndsWhateverTheOrdersOfGrantsAre) {
  constexpr int messages = 6;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    fresh(seed, seed % 3 == 0 ? Order::late : seed % 3 == 1 ? Order::drawn : Order::others_first);
    Ranks carriers;
    for (auto& inner : make_loop(4)) {
      const int rank = inner->rank();
      auto draw = std::make_shared<std::mt19937_64>(seed * 10 + static_cast<std::uint64_t>(rank));
      // Lets anything through in an order of its own, and often nothing for a while.
      carriers.push_back(std::make_unique<Carrier>(std::move(inner), [draw](Carrier::Heads& heads) -> Message* {
        if ((*draw)() % 4 != 0) return nullptr;
        return &std::next(heads.begin(), static_cast<long>((*draw)() % heads.size()))->second.front();
      }));
    }
    NcclOptions options = small();
    options.routes = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
    on_each_transport(std::move(carriers), options, [](Transport& transport) {
      const std::vector<std::byte> bytes(200'000, std::byte{9});
      std::vector<Ticket> tickets;
      if (transport.rank() < 2)
        for (int i = 0; i < messages; ++i)
          for (const Channel channel : {Channel::anchor, Channel::residual})
            for (const int to : transport.rank() == 0 ? std::vector{2, 3} : std::vector{3, 2})
              tickets.push_back(transport.post(channel, to, bytes));
      for (int left = transport.rank() < 2 ? 0 : 2 * 2 * messages; left > 0; --left) {
        const auto message = next(transport);
        ASSERT_TRUE(message) << "stuck";
        ASSERT_TRUE(message->bytes == bytes);
      }
      const std::int64_t until = now_ns() + 20'000'000'000;
      for (const Ticket ticket : tickets)
        while (!transport.test(ticket)) ASSERT_LT(now_ns(), until) << "stuck";
      meet(transport);
    });
    if (HasFailure()) break;
  }
}

// The order that stops ordered streams for sure: each receiver hears first of the sender that sends to it last.
TEST_F(Nccl, EndsWithTheOrdersThatCrossEachOther) {
  Ranks carriers;
  for (auto& inner : make_loop(4)) {
    const int rank = inner->rank();
    auto freed = std::make_shared<bool>(rank < 2);
    carriers.push_back(std::make_unique<Carrier>(std::move(inner), [rank, freed](Carrier::Heads& heads) -> Message* {
      for (auto& [key, queue] : heads)
        if (key.first == Channel::control || *freed) return &queue.front();
      const auto last = heads.find({Channel::anchor, rank == 2 ? 1 : 0});
      if (last == heads.end()) return nullptr;
      *freed = true;
      return &last->second.front();
    }));
  }
  NcclOptions options = small();
  options.routes = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  on_each_transport(std::move(carriers), options, [](Transport& transport) {
    const std::vector<std::byte> bytes(100'000, std::byte{9});
    std::vector<Ticket> tickets;
    if (transport.rank() < 2)
      for (const int to : transport.rank() == 0 ? std::vector{2, 3} : std::vector{3, 2}) tickets.push_back(transport.post(Channel::anchor, to, bytes));
    else
      for (int left = 2; left > 0; --left) ASSERT_TRUE(next(transport));
    for (const Ticket ticket : tickets)
      while (!transport.test(ticket)) std::this_thread::yield();
    meet(transport);
  });
}

// While an anchor that was announced has not come, no residual is let on its way to this rank.
TEST_F(Nccl, GrantsNoResidualWhileAnAnchorIsExpected) {
  Ranks carriers;
  auto open = std::make_shared<std::atomic<bool>>(false);
  for (auto& inner : make_loop(3)) {
    const int rank = inner->rank();
    carriers.push_back(std::make_unique<Carrier>(std::move(inner), [rank, open](Carrier::Heads& heads) -> Message* {
      // Rank 0 does not hear that its anchor is granted, so it does not send it.
      for (auto& [key, queue] : heads)
        if (rank != 0 || key.first != Channel::anchor || *open) return &queue.front();
      return nullptr;
    }));
  }
  NcclOptions options = small();
  options.routes = {{0, 2}, {1, 2}};
  on_each_transport(std::move(carriers), options, [&](Transport& transport) {
    const std::vector<std::byte> bytes(1000, std::byte{3});
    if (transport.rank() == 0) {
      const Ticket anchor = transport.post(Channel::anchor, 2, bytes);
      const Ticket word = transport.post(Channel::control, 1, std::span(bytes).first(1));
      while (!transport.test(anchor) || !transport.test(word)) std::this_thread::yield();
    } else if (transport.rank() == 1) {
      ASSERT_TRUE(next(transport, true));  // the anchor is announced
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const Ticket residual = transport.post(Channel::residual, 2, bytes);
      const std::int64_t until = now_ns() + 200'000'000;
      while (now_ns() < until) EXPECT_FALSE(transport.test(residual));
      *open = true;
      while (!transport.test(residual)) std::this_thread::yield();
    } else {
      const auto first = next(transport), second = next(transport);
      ASSERT_TRUE(first && second);
      EXPECT_EQ(first->channel, Channel::anchor);
      EXPECT_EQ(second->channel, Channel::residual);
    }
    meet(transport);
  });
}

}  // namespace
}  // namespace lynxkv::comm
