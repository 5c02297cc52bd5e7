// The double of NCCL does what NCCL is documented to do, as far as our transport uses it.
#include "tests/cuda_emulation/nccl_double/raw.hpp"

namespace nccl_double {
namespace {

using cuda_emulation::Order;

void fill(const Player& player, int byte) {
  ASSERT_EQ(cudaMemsetAsync(player.buffer, byte, buffer_bytes, player.stream), cudaSuccess);
}
bool holds(const Player& player, int byte) {
  std::vector<std::byte> bytes(buffer_bytes);
  EXPECT_EQ(cudaMemcpyAsync(bytes.data(), player.buffer, buffer_bytes, cudaMemcpyDeviceToHost, player.stream), cudaSuccess);
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte one) { return one == static_cast<std::byte>(byte); });
}

TEST_F(ByHand, MovesBytesWhateverRunsFirst) {
  for (const Order order : {Order::drawn, Order::late, Order::others_first})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      fresh(seed, order);
      join(2);
      fill(players[0], 5);
      fill(players[1], 6);
      players[0].send(1);
      players[1].receive(0);
      ASSERT_TRUE(run()) << seed;
      EXPECT_TRUE(holds(players[1], 5)) << seed;
      destroy();
    }
}

TEST_F(ByHand, DefersCallsAtRandom) {
  int deferred = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fresh(seed);
    join(2);
    players[1].receive(0);
    players[0].send(1);
    deferred += players[0].look() == ncclInProgress;
    ASSERT_TRUE(run());
    destroy();
  }
  EXPECT_GT(deferred, 2);
  EXPECT_LT(deferred, 20);
}

TEST_F(ByHand, ConnectsTwoRanksOnlyOnceBothHaveCalled) {
  join(2);
  players[1].receive(0);
  EXPECT_FALSE(settle());
  EXPECT_EQ(players[1].look(), ncclInProgress);
  players[0].send(1);
  EXPECT_TRUE(run());
  players[1].receive(0);  // connected by now
  EXPECT_TRUE(settle());
  players[0].send(1);
  EXPECT_TRUE(run());
  destroy();
}

TEST_F(ByHand, RunsAGroupTogetherSoThatItMayCrossItself) {
  join(2);
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(players[rank].buffer, 100'000, ncclUint8, 1 - rank, players[rank].comm, players[rank].stream), ncclSuccess);
    EXPECT_EQ(ncclRecv(players[rank].buffer + 150'000, 100'000, ncclUint8, 1 - rank, players[rank].comm, players[rank].stream), ncclSuccess);
    EXPECT_LE(ncclGroupEnd(), ncclInProgress);
  }
  EXPECT_TRUE(run());
  destroy();
}

TEST_F(ByHand, RefusesTwoRanksOnOneGpu) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ASSERT_EQ(ncclCommInitRankConfig(&players.emplace_back().comm, 2, id, rank, &config), ncclInProgress);
  }
  settle();
  EXPECT_EQ(players[0].look(), ncclInvalidUsage);
  abort();
}

TEST_F(ByHand, TellsTheOthersWhenARankAborts) {
  join(2);
  players[1].receive(0);
  EXPECT_EQ(ncclCommAbort(players[0].comm), ncclSuccess);
  EXPECT_EQ(players[1].look(), ncclRemoteError);
  EXPECT_EQ(ncclCommAbort(players[1].comm), ncclSuccess);
}

TEST_F(ByHand, FailsOnPurpose) {
  join(2);
  fail("hand", ncclSystemError);
  EXPECT_EQ(players[0].look(), ncclSystemError);
  abort();
}

}  // namespace
}  // namespace nccl_double
