#include "comm/send_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lynxkv::comm {
namespace {

Parcel parcel(Channel channel, std::uint64_t request, char mark, std::size_t bytes = 1, int peer = 1) {
  return {channel, peer, request, std::vector<std::byte>(bytes, static_cast<std::byte>(mark)), false};
}

SendQueue::Room open_room() {
  SendQueue::Room room;
  room.residual = [](std::size_t) { return true; };
  return room;
}

// The marks in the order in which the queue lets them go.
std::string drain(SendQueue& queue, const SendQueue::Room& room = open_room()) {
  std::string order;
  while (const auto entry = queue.pop_data(room))
    for (const std::byte b : entry->parcel.bytes) order += static_cast<char>(b);
  return order;
}

TEST(SendQueue, SendsAnchorsBeforeResidualsAndOldRequestsFirst) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  queue.push(parcel(Channel::anchor, 2, 'b'), 0);
  queue.push(parcel(Channel::anchor, 1, 'a'), 0);
  queue.push(parcel(Channel::anchor, 1, 'A'), 0);
  queue.push(parcel(Channel::residual, 2, 's'), 0);
  EXPECT_EQ(drain(queue), "aAbrs");
  EXPECT_TRUE(queue.empty());
}

TEST(SendQueue, HoldsResidualsBackWhileAnAnchorIsOnTheWire) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  SendQueue::Room room = open_room();
  room.anchor_flying = true;
  EXPECT_EQ(drain(queue, room), "");
  EXPECT_EQ(drain(queue), "r");
}

TEST(SendQueue, HoldsResidualsBackBehindAnAnchorThatHasNoRoom) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  queue.push(parcel(Channel::anchor, 9, 'a'), 0);
  SendQueue::Room room = open_room();
  room.anchor = false;
  EXPECT_EQ(drain(queue, room), "");
  EXPECT_EQ(drain(queue), "ar");
}

TEST(SendQueue, HoldsResidualsBackWhileMoreAnchorsAreAnnounced) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  queue.push(parcel(Channel::residual, 2, 'h'), 0);
  queue.hold_bulk(7);
  queue.hold_bulk(8);
  queue.hurry(2);
  EXPECT_EQ(drain(queue), "h") << "a decoder waits for that one";
  queue.push(parcel(Channel::anchor, 7, 'a'), 0);
  EXPECT_EQ(drain(queue), "a");
  queue.release_bulk(7);
  EXPECT_EQ(drain(queue), "");
  queue.forget(8);
  EXPECT_EQ(drain(queue), "r");
}

TEST(SendQueue, KnowsWhetherANewParcelCouldLeaveAtOnce) {
  SendQueue queue(false, 1000);
  const Parcel anchor = parcel(Channel::anchor, 3, 'A'), residual = parcel(Channel::residual, 3, 'R'), control = parcel(Channel::control, 3, 'C');
  EXPECT_TRUE(queue.leads(anchor) && queue.leads(residual) && queue.leads(control));
  queue.hold_bulk(9);
  EXPECT_FALSE(queue.leads(residual));
  queue.hurry(3);
  EXPECT_TRUE(queue.leads(residual));
  queue.forget(3);
  queue.release_bulk(9);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  EXPECT_TRUE(queue.leads(anchor));
  EXPECT_FALSE(queue.leads(residual));
  queue.push(parcel(Channel::anchor, 1, 'a'), 0);
  EXPECT_FALSE(queue.leads(anchor));
  EXPECT_TRUE(queue.leads(control));
}

TEST(SendQueue, RanksAHurriedResidualWithAnchorsByAge) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  queue.push(parcel(Channel::residual, 3, 't'), 0);
  queue.push(parcel(Channel::anchor, 2, 'b'), 0);
  queue.push(parcel(Channel::anchor, 4, 'd'), 0);
  queue.hurry(3);
  queue.push(parcel(Channel::residual, 3, 'T'), 0);
  EXPECT_EQ(drain(queue), "btTdr");
}

TEST(SendQueue, HurriesNothingWhenStrict) {
  SendQueue queue(true, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  queue.push(parcel(Channel::anchor, 2, 'b'), 0);
  queue.hurry(1);
  EXPECT_EQ(drain(queue), "br");
}

TEST(SendQueue, LetsAnchorsPassAHurriedResidualWithoutCredit) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::residual, 1, 'r'), 0);
  queue.push(parcel(Channel::anchor, 2, 'b'), 0);
  queue.hurry(1);
  SendQueue::Room room = open_room();
  room.residual = [](std::size_t) { return false; };
  EXPECT_EQ(drain(queue, room), "b");
  EXPECT_EQ(drain(queue), "r");
}

TEST(SendQueue, LetsNoSmallerResidualPassOneWithoutCredit) {
  SendQueue queue(false, 0);
  queue.push(parcel(Channel::residual, 1, 'L', 3), 0);
  queue.push(parcel(Channel::residual, 1, 's', 1), 0);
  queue.push(parcel(Channel::anchor, 2, 'a'), 0);
  queue.hurry(1);
  SendQueue::Room room = open_room();
  room.residual = [](std::size_t bytes) { return bytes <= 2; };
  EXPECT_EQ(drain(queue, room), "a") << "the small one would arrive first, and the large one pass for lost";
  EXPECT_EQ(drain(queue), "LLLs");
}

TEST(SendQueue, ForgetsTheDataOfARequestButNotItsControlMessages) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::control, 1, 'c'), 0);
  queue.push(parcel(Channel::anchor, 1, 'a', 10), 0);
  queue.push(parcel(Channel::residual, 1, 'r', 20), 0);
  queue.push(parcel(Channel::anchor, 2, 'b'), 0);
  EXPECT_EQ(queue.waiting_bytes(Channel::anchor), 11u);
  queue.forget(1);
  EXPECT_EQ(queue.waiting_bytes(Channel::anchor), 1u);
  EXPECT_EQ(queue.waiting_bytes(Channel::residual), 0u);
  EXPECT_TRUE(queue.pop_control().has_value());
  EXPECT_EQ(drain(queue), "b");
}

TEST(SendQueue, CountsNoAnchorAsWaitingAfterItWasForgotten) {
  SendQueue queue(false, 1000);
  queue.push(parcel(Channel::anchor, 1, 'a'), 0);
  queue.push(parcel(Channel::residual, 2, 'r'), 0);
  queue.forget(1);
  EXPECT_EQ(drain(queue), "r");
}

TEST(SendQueue, JoinsNeighboursOfOnePeerAndChannelUpToTheLimit) {
  SendQueue queue(false, 10);
  for (const char mark : {'a', 'b', 'c'}) {
    Parcel piece = parcel(Channel::anchor, 1, mark, 4);
    piece.joinable = true;
    queue.push(std::move(piece), mark);
  }
  const auto first = queue.pop_data(open_room());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->parcel.bytes.size(), 8u);
  EXPECT_EQ(first->queued_ns, 'b');
  const auto second = queue.pop_data(open_room());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->parcel.bytes.size(), 4u);
  EXPECT_EQ(queue.waiting_bytes(Channel::anchor), 0u);
}

TEST(SendQueue, JoinsNeitherAcrossPeersNorWhatIsNotJoinable) {
  SendQueue queue(false, 100);
  Parcel one = parcel(Channel::anchor, 1, 'a', 4, 1);
  Parcel two = parcel(Channel::anchor, 1, 'b', 4, 2);
  one.joinable = two.joinable = true;
  queue.push(std::move(one), 0);
  queue.push(std::move(two), 0);
  queue.push(parcel(Channel::anchor, 1, 'c', 4, 2), 0);
  for (int i = 0; i < 3; ++i) {
    const auto entry = queue.pop_data(open_room());
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->parcel.bytes.size(), 4u);
  }
}

TEST(SendQueue, JoinsResidualsOnlyAsFarAsCreditsGo) {
  SendQueue queue(false, 100);
  for (int i = 0; i < 5; ++i) {
    Parcel piece = parcel(Channel::residual, 1, 'r', 10);
    piece.joinable = true;
    queue.push(std::move(piece), 0);
  }
  SendQueue::Room room = open_room();
  room.residual = [](std::size_t bytes) { return bytes <= 25; };
  const auto entry = queue.pop_data(room);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->parcel.bytes.size(), 20u);
}

TEST(SendQueue, DropsAllThatWaitsForARankThatHasClosed) {
  SendQueue queue(false, 100);
  queue.push(parcel(Channel::control, 0, 'c', 1, 1), 0);
  queue.push(parcel(Channel::anchor, 1, 'a', 1, 1), 0);
  queue.push(parcel(Channel::residual, 1, 'r', 1, 1), 0);
  queue.push(parcel(Channel::anchor, 1, 'b', 1, 2), 0);
  EXPECT_EQ(queue.drop_peer(1), 3u);
  EXPECT_FALSE(queue.pop_control().has_value());
  EXPECT_EQ(drain(queue), "b");
}

}  // namespace
}  // namespace lynxkv::comm
