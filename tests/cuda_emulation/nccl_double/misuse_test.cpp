// What the double of NCCL finds wrong: each with the fault that it has to find, and beside it what is right.
#include <thread>

#include "tests/cuda_emulation/nccl_double/raw.hpp"

namespace nccl_double {
namespace {

using cuda_emulation::Order;

TEST_F(ByHand, FindsASendThatMeetsAReceiveOfAnotherSize) {
  join(2);
  players[0].send(1, 1000);
  players[1].receive(0, 1001);
  EXPECT_TRUE(settle());
  for (int look = 0; look < 50; ++look) players[0].done();
  expect_misuse("meets one of");
  abort();
}

TEST_F(ByHand, FindsASendThatMeetsAReceiveOfAnotherType) {
  join(2);
  EXPECT_LE(ncclSend(players[0].buffer, 1000, ncclInt8, 1, players[0].comm, players[0].stream), ncclInProgress);
  players[1].receive(0, 1000);
  EXPECT_TRUE(settle());
  for (int look = 0; look < 50; ++look) players[0].done();
  const auto found = take_misuse();
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found.front().find("meets one of 1000 bytes, type "), std::string::npos) << found.front();
  abort();
}

TEST_F(ByHand, FindsASendThatNobodyReceives) {
  join(2);
  players[0].send(1);
  players[1].receive(0);
  ASSERT_TRUE(run());
  players[0].send(1);
  EXPECT_TRUE(settle());
  EXPECT_EQ(ncclCommDestroy(players[0].comm), ncclSuccess);
  expect_misuse("destroyed with operations that are not through");
  EXPECT_EQ(ncclCommAbort(players[1].comm), ncclSuccess);
}

TEST_F(ByHand, FindsTwoRanksThatBothSendFirst) {
  join(2);
  for (int rank = 0; rank < 2; ++rank) {
    players[rank].send(1 - rank);
    players[rank].receive(1 - rank);  // behind a send that has not ended: refused where that is still in progress
    take_misuse();
  }
  abort();
  // With the connections there, nothing is in progress, and the orders can be seen.
  fresh(1);
  join(2);
  players[0].send(1, 10);
  players[1].receive(0, 10);
  EXPECT_TRUE(run());
  players[0].receive(1, 10);
  players[1].send(0, 10);
  EXPECT_TRUE(run());
  players[0].send(1);
  players[1].send(0);
  EXPECT_TRUE(settle());
  players[0].receive(1);
  players[1].receive(0);
  EXPECT_TRUE(settle());
  for (int look = 0; look < 100; ++look) players[look % 2].done();
  expect_misuse("orders that cannot meet: rank");
  abort();
}

// What the transport's lanes are there for. Ranks 0 and 1 are P0 and P1, ranks 2 and 3 are D0 and D1.
TEST_F(ByHand, FindsThatOrderedStreamsOverOneWideCommunicatorCannotMeet) {
  for (const bool crossed : {false, true}) {
    join(4);
    const auto connect = [&](int from, int to) {
      players[static_cast<std::size_t>(from)].send(to, 10);
      players[static_cast<std::size_t>(to)].receive(from, 10);
      EXPECT_TRUE(run());
    };
    for (const int from : {0, 1})
      for (const int to : {2, 3}) connect(from, to);
    const auto call = [&](int rank, bool sends, int first, int second) {
      for (const int peer : {first, second}) {
        if (sends) players[static_cast<std::size_t>(rank)].send(peer);
        else players[static_cast<std::size_t>(rank)].receive(peer);
        EXPECT_TRUE(settle());
      }
    };
    call(0, true, 2, 3);
    call(1, true, 3, 2);
    call(2, false, crossed ? 1 : 0, crossed ? 0 : 1);
    call(3, false, crossed ? 0 : 1, crossed ? 1 : 0);
    if (!crossed) {
      EXPECT_TRUE(run());
      destroy();
      fresh(2);
      continue;
    }
    for (int look = 0; look < 400; ++look) players[static_cast<std::size_t>(look % 4)].done();
    expect_misuse("waits for rank");
    abort();
  }
}

// A copy in another stream writes what a send reads. With the event waited for it is in order.
TEST_F(ByHand, FindsABufferThatIsReusedBeforeItsEvent) {
  for (const bool waits : {true, false}) {
    join(2);
    cudaStream_t copies = nullptr;
    cudaEvent_t sent = nullptr;
    ASSERT_EQ(cudaStreamCreate(&copies), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&sent), cudaSuccess);
    players[1].receive(0);
    players[0].send(1);
    EXPECT_TRUE(settle());
    ASSERT_EQ(cudaEventRecord(sent, players[0].stream), cudaSuccess);
    if (waits) {
      for (int look = 0; look < 1000 && cudaEventQuery(sent) == cudaErrorNotReady; ++look) players[1].done();
    }
    std::vector<std::byte> fresh_bytes(buffer_bytes);
    EXPECT_EQ(cudaMemcpyAsync(players[0].buffer, fresh_bytes.data(), buffer_bytes, cudaMemcpyHostToDevice, copies),
              waits ? cudaSuccess : cudaErrorLaunchFailure);
    EXPECT_EQ(cudaEventDestroy(sent), cudaSuccess);
    if (waits) {
      EXPECT_TRUE(run());
      destroy();
      fresh(2);
    } else {
      expect_fault("no event orders them");
    }
  }
}

TEST_F(ByHand, FindsASendThatDoesNotWaitForTheCopyOfItsBytes) {
  for (const bool waits : {true, false}) {
    join(2);
    cudaStream_t copies = nullptr;
    cudaEvent_t copied = nullptr;
    ASSERT_EQ(cudaStreamCreate(&copies), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&copied), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(players[0].buffer, 7, buffer_bytes, copies), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(copied, copies), cudaSuccess);
    if (waits) {
      ASSERT_EQ(cudaStreamWaitEvent(players[0].stream, copied), cudaSuccess);
    }
    players[1].receive(0);
    players[0].send(1);
    EXPECT_EQ(cudaEventDestroy(copied), cudaSuccess);
    if (waits) {
      EXPECT_TRUE(run());
      destroy();
      fresh(2);
    } else {
      settle();
      expect_fault("no event orders them");
    }
  }
}

// The event stands before the send, which NCCL was still bringing to the stream.
TEST_F(ByHand, FindsAnEventThatIsRecordedBeforeTheCallHasSettled) {
  join(2);
  cudaEvent_t sent = nullptr;
  cudaStream_t copies = nullptr;
  ASSERT_EQ(cudaStreamCreate(&copies), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&sent), cudaSuccess);
  players[0].send(1);
  ASSERT_EQ(cudaEventRecord(sent, players[0].stream), cudaSuccess);
  while (cudaEventQuery(sent) == cudaErrorNotReady) {
  }
  ASSERT_EQ(cudaMemsetAsync(players[0].buffer, 1, buffer_bytes, copies), cudaSuccess);
  players[1].receive(0);
  settle();
  EXPECT_EQ(cudaEventDestroy(sent), cudaSuccess);
  expect_fault("no event orders them");
}

TEST_F(ByHand, FindsABufferThatIsFreedBeforeItsTransferHasEnded) {
  join(2);
  players[0].send(1);
  players[1].receive(0);
  EXPECT_TRUE(settle());
  EXPECT_NE(ncclMemFree(players[1].buffer), ncclSuccess);
  expect_fault("is freed before");
}

TEST_F(ByHand, FindsTheUseOfACommunicatorThatIsGone) {
  join(2);
  abort();
  EXPECT_EQ(ncclSend(players[0].buffer, 1, ncclUint8, 1, players[0].comm, players[0].stream), ncclInvalidUsage);
  expect_misuse("which is aborted");
  EXPECT_EQ(players[1].look(), ncclInvalidArgument);
  expect_misuse("which is aborted");
  int nothing = 0;
  EXPECT_EQ(ncclCommAbort(reinterpret_cast<ncclComm_t>(&nothing)), ncclInvalidUsage);
  expect_misuse("does not exist");
}

TEST_F(ByHand, FindsTwoThreadsInOneCommunicator) {
  reset({1, true, 20'000});
  begin_to_join(2);
  std::thread other([&] { players[0].look(); });
  players[0].look();
  other.join();
  players[0].look();
  expect_misuse("while another thread is inside it");
  abort();
}

TEST_F(ByHand, FindsACallBeforeTheOneInProgressHasEnded) {
  join(2);
  players[1].receive(0);  // in progress until rank 0 sends
  ASSERT_EQ(players[1].look(), ncclInProgress);
  EXPECT_EQ(ncclRecv(players[1].buffer, 1, ncclUint8, 0, players[1].comm, players[1].stream), ncclInvalidUsage);
  expect_misuse("before the call that is in progress has ended");
  abort();
}

TEST_F(ByHand, FindsCommunicatorsThatNobodyDestroys) {
  join(2);
  EXPECT_EQ(ncclCommAbort(players[0].comm), ncclSuccess);
  const auto leaks = take_leaks();
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks.front(), "communicator 'by hand' of rank 1");
}

TEST_F(ByHand, FindsBuffersThatAreStillRegistered) {
  join(2);
  void* handle = nullptr;
  ASSERT_EQ(ncclCommRegister(players[0].comm, players[0].buffer, buffer_bytes, &handle), ncclSuccess);
  ncclMemFree(players[0].buffer);
  expect_misuse("freed that is still registered");
  EXPECT_EQ(ncclCommDestroy(players[0].comm), ncclSuccess);
  expect_misuse("destroyed with 1 buffers registered");
  EXPECT_EQ(ncclCommAbort(players[1].comm), ncclSuccess);
}

TEST_F(ByHand, FindsABufferThatIsNotRegisteredBesideRegisteredOnes) {
  join(2);
  void* handle = nullptr;
  ASSERT_EQ(ncclCommRegister(players[0].comm, players[0].buffer, 1000, &handle), ncclSuccess);
  players[0].send(1, 1001);
  expect_misuse("not registered");
  abort();
}

TEST_F(ByHand, FindsAConfigThatIsNotInitialisedAndRanksThatDisagree) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config{};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInvalidUsage);
  expect_misuse("NCCL_CONFIG_INITIALIZER");
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ASSERT_EQ(ncclCommInitRankConfig(&players.emplace_back().comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 3, id, 1, &config), ncclInvalidUsage);
  expect_misuse("has 3 ranks here and 2 elsewhere");
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInvalidUsage);
  expect_misuse("that rank is taken");
  abort();
}

}  // namespace
}  // namespace nccl_double
