// Couriers over the in-process loop: the suite that every transport passes, then pacing, priority and endings.
#include <gtest/gtest.h>

#include "tests/comm/rig.hpp"
#include "tests/comm/transport_suite.hpp"

namespace lynxkv::comm {
namespace {

TEST(Loop, PassesTheTransportSuiteAlone) { on_each_rank(1, test_options(), suite::everything); }
TEST(Loop, PassesTheTransportSuiteWithTwoRanks) { on_each_rank(2, test_options(), suite::everything); }
TEST(Loop, PassesTheTransportSuiteWithFourRanks) { on_each_rank(4, test_options(), suite::everything); }

TEST(Loop, LeavesAPostIncompleteOnceTheReceiverHoldsTooMuch) {
  auto ranks = make_loop(2);
  const std::vector<std::byte> bytes(std::size_t{4} << 20);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 4; ++i) tickets.push_back(ranks[0]->post(Channel::anchor, 1, bytes));
  EXPECT_TRUE(ranks[0]->test(tickets[0]));
  EXPECT_FALSE(ranks[0]->test(tickets[3]));
  Message message;
  while (ranks[1]->poll(message)) EXPECT_EQ(message.bytes.size(), bytes.size());
  EXPECT_TRUE(ranks[0]->test(tickets[3]));
}

}  // namespace
}  // namespace lynxkv::comm
