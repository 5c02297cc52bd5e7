// The double of NCCL used by hand: the ranks of one communicator in one thread, which plays them in turn.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda_emulation/emulation.hpp"
#include "tests/cuda_emulation/nccl_double/nccl_double.hpp"

namespace nccl_double {

constexpr std::size_t buffer_bytes = 300'000;  // some pieces

// One rank: a communicator, a stream, a buffer.
struct Player {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::byte* buffer = nullptr;

  ncclResult_t look() const {
    ncclResult_t result = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &result);
    return asked != ncclSuccess ? asked : result;
  }
  void send(int peer, std::size_t bytes = buffer_bytes) const { EXPECT_LE(ncclSend(buffer, bytes, ncclUint8, peer, comm, stream), ncclInProgress); }
  void receive(int peer, std::size_t bytes = buffer_bytes) const { EXPECT_LE(ncclRecv(buffer, bytes, ncclUint8, peer, comm, stream), ncclInProgress); }
  bool done() const { return cudaStreamQuery(stream) == cudaSuccess; }
};

class ByHand : public testing::Test {
 protected:
  void SetUp() override { fresh(1); }
  void TearDown() override {
    for (const std::string& what : take_misuse()) ADD_FAILURE() << "misuse that the test does not expect: " << what;
    for (const std::string& what : take_leaks()) ADD_FAILURE() << "leak that the test does not expect: " << what;
    EXPECT_EQ(cuda_emulation::last_fault(), "");
  }
  void fresh(std::uint64_t seed, cuda_emulation::Order order = cuda_emulation::Order::drawn) {
    players.clear();
    reset({seed, true, 0});
    cuda_emulation::reset({seed, order, 2, 8});
  }
  void begin_to_join(int ranks, const char* name = "by hand") {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank) {
      Player& player = players.emplace_back();
      ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      config.commName = name;
      ASSERT_EQ(ncclCommInitRankConfig(&player.comm, ranks, id, rank, &config), ncclInProgress);
    }
  }
  void join(int ranks) {
    begin_to_join(ranks);
    settle();
    for (Player& player : players) {
      void* memory = nullptr;
      ASSERT_EQ(ncclMemAlloc(&memory, buffer_bytes), ncclSuccess);
      player.buffer = static_cast<std::byte*>(memory);
      ASSERT_EQ(cudaStreamCreateWithFlags(&player.stream, cudaStreamNonBlocking), cudaSuccess);
    }
  }
  // Until nothing is in progress; what stays so after many looks will for ever.
  bool settle() {
    for (int look = 0; look < 200; ++look)
      if (std::count_if(players.begin(), players.end(), [](const Player& player) { return player.look() == ncclInProgress; }) == 0) return true;
    return false;
  }
  bool run() {
    for (int look = 0; look < 2000; ++look)
      if (settle() && std::all_of(players.begin(), players.end(), [](const Player& player) { return player.done(); })) return true;
    return false;
  }
  void destroy() {
    for (Player& player : players) EXPECT_LE(ncclCommFinalize(player.comm), ncclInProgress);
    EXPECT_TRUE(settle());
    for (Player& player : players) EXPECT_EQ(ncclCommDestroy(player.comm), ncclSuccess);
    for (Player& player : players) EXPECT_EQ(ncclMemFree(player.buffer), ncclSuccess);
  }
  void abort() {
    for (Player& player : players) EXPECT_EQ(ncclCommAbort(player.comm), ncclSuccess);
  }
  // Takes the one misuse that was noted, which has to speak of `part`.
  static void expect_misuse(const std::string& part) {
    const auto found = take_misuse();
    ASSERT_FALSE(found.empty()) << "nothing was noted; expected: " << part;
    EXPECT_NE(found.front().find(part), std::string::npos) << found.front();
  }
  // Takes the fault of the emulated GPU, which has to speak of `part`; the doubles are fresh then.
  void expect_fault(const std::string& part) {
    EXPECT_NE(cuda_emulation::last_fault().find(part), std::string::npos) << cuda_emulation::last_fault();
    take_leaks();
    fresh(1);
  }

  std::vector<Player> players;
};

}  // namespace nccl_double
