// The emulation itself: order between streams, and what waits for what.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/cuda_emulation/emulation.hpp"

namespace cuda_emulation {
namespace {

constexpr Order orders[] = {Order::drawn, Order::late, Order::others_first};

__global__ void add_one(int* value) { __stcs(value, __ldcs(value) + 1); }
__global__ void twice(int* value) { __stcs(value, __ldcs(value) * 2); }

void enqueue(void (*kernel)(int*), int* value, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(1);
  config.stream = stream;
  ASSERT_EQ(cudaLaunchKernelEx(&config, kernel, value), cudaSuccess);
}

struct Rig {
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
  int* device = nullptr;
  int* pinned = nullptr;

  explicit Rig(const Setup& setup) {
    reset(setup);
    EXPECT_EQ(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, sizeof(int)), cudaSuccess);
    device = static_cast<int*>(memory);
    EXPECT_EQ(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocDefault), cudaSuccess);
    pinned = static_cast<int*>(memory);
    EXPECT_EQ(cudaMemset(device, 0, sizeof(int)), cudaSuccess);
  }
  ~Rig() { cudaEventDestroy(event); }
};

// 1 in the first stream, doubled in the second, read back in the second: 2.
int across_streams(const Setup& setup, bool with_event) {
  Rig rig(setup);
  enqueue(add_one, rig.device, rig.first);
  if (with_event) {
    EXPECT_EQ(cudaEventRecord(rig.event, rig.first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(rig.second, rig.event), cudaSuccess);
  }
  enqueue(twice, rig.device, rig.second);
  EXPECT_EQ(cudaMemcpyAsync(rig.pinned, rig.device, sizeof(int), cudaMemcpyDeviceToHost, rig.second), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(rig.second), cudaSuccess);
  return *rig.pinned;
}

TEST(EmulatedStreams, AreOrderedByEvents) {
  for (const Order order : orders)
    for (std::uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(across_streams({seed, order, 1}, true), 2);
}

TEST(EmulatedStreams, ShowAMissingEvent) {
  EXPECT_NE(across_streams({1, Order::late, 1}, false), 2);
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) wrong += across_streams({seed, Order::drawn, 1}, false) != 2;
  EXPECT_GT(wrong, 5);
  EXPECT_LT(wrong, 50) << "and sometimes luck, as on a GPU";
}

TEST(EmulatedStreams, KeepTheirOwnOrder) {
  for (const Order order : orders)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rig rig({seed, order, 1});
      for (int i = 0; i < 5; ++i) {
        enqueue(add_one, rig.device, rig.first);
        enqueue(twice, rig.device, rig.first);
      }
      ASSERT_EQ(cudaMemcpyAsync(rig.pinned, rig.device, sizeof(int), cudaMemcpyDeviceToHost, rig.first), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(rig.first), cudaSuccess);
      EXPECT_EQ(*rig.pinned, 62);
    }
}

TEST(EmulatedStreams, ShowPinnedMemoryThatIsReusedTooEarly) {
  for (const bool waits : {true, false}) {
    Rig rig({1, Order::late, 1});
    *rig.pinned = 5;
    ASSERT_EQ(cudaMemcpyAsync(rig.device, rig.pinned, sizeof(int), cudaMemcpyHostToDevice, rig.first), cudaSuccess);
    if (waits) {
      ASSERT_EQ(cudaStreamSynchronize(rig.first), cudaSuccess);
    }
    *rig.pinned = 9;
    int got = 0;
    ASSERT_EQ(cudaMemcpyAsync(&got, rig.device, sizeof(int), cudaMemcpyDeviceToHost, rig.first), cudaSuccess);
    EXPECT_EQ(got, waits ? 5 : 9);
  }
}

TEST(EmulatedStreams, TakePageableMemoryBeforeTheCallReturns) {
  Rig rig({1, Order::late, 1});
  int value = 5;
  ASSERT_EQ(cudaMemcpyAsync(rig.device, &value, sizeof(int), cudaMemcpyHostToDevice, rig.first), cudaSuccess);
  value = 9;
  int got = 0;
  ASSERT_EQ(cudaMemcpyAsync(&got, rig.device, sizeof(int), cudaMemcpyDeviceToHost, rig.first), cudaSuccess);
  EXPECT_EQ(got, 5);
}

TEST(EmulatedStreams, DoNotWaitForTheDefaultStream) {
  Rig rig({1, Order::late, 1});
  enqueue(add_one, rig.device, nullptr);
  ASSERT_EQ(cudaMemcpyAsync(rig.pinned, rig.device, sizeof(int), cudaMemcpyDeviceToHost, rig.first), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(rig.first), cudaSuccess);
  EXPECT_EQ(*rig.pinned, 0);
}

TEST(EmulatedStreams, AreWaitedForUpToTheLatestRecordOfAnEvent) {
  for (const Order order : orders) {
    Rig rig({3, order, 1});
    EXPECT_EQ(cudaEventQuery(rig.event), cudaSuccess) << "never recorded";
    enqueue(add_one, rig.device, rig.first);
    ASSERT_EQ(cudaEventRecord(rig.event, rig.first), cudaSuccess);
    enqueue(add_one, rig.device, rig.first);
    ASSERT_EQ(cudaEventRecord(rig.event, rig.first), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(rig.event), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(rig.pinned, rig.device, sizeof(int), cudaMemcpyDeviceToHost, rig.second), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(rig.second), cudaSuccess);
    EXPECT_EQ(*rig.pinned, 2);
  }
}

TEST(EmulatedStreams, GetOnWhileTheHostPolls) {
  Rig rig({1, Order::late, 1});
  for (int i = 0; i < 10; ++i) enqueue(add_one, rig.device, rig.first);
  ASSERT_EQ(cudaEventRecord(rig.event, rig.first), cudaSuccess);
  int polls = 0;
  while (cudaEventQuery(rig.event) == cudaErrorNotReady) ++polls;
  EXPECT_GT(polls, 0);
  EXPECT_EQ(cudaStreamQuery(rig.first), cudaSuccess);
}

TEST(EmulatedStreams, OrderMemoryThatIsAllocatedInThem) {
  Rig rig({1, Order::late, 1});
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, sizeof(int), rig.first), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 0, sizeof(int), rig.first), cudaSuccess);
  enqueue(add_one, static_cast<int*>(memory), rig.first);
  ASSERT_EQ(cudaFreeAsync(memory, rig.first), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(rig.first), cudaSuccess) << last_fault();
  ASSERT_EQ(cudaMallocAsync(&memory, sizeof(int), rig.first), cudaSuccess);
  enqueue(add_one, static_cast<int*>(memory), rig.second);  // nothing orders it behind the allocation
  EXPECT_EQ(cudaStreamSynchronize(rig.second), cudaErrorIllegalAddress);
}

TEST(EmulatedStreams, RefuseCopiesThatCannotBe) {
  Rig rig({});
  const int two[2] = {1, 2};
  EXPECT_EQ(cudaMemcpyAsync(rig.device, rig.pinned, sizeof(int), cudaMemcpyDeviceToHost, rig.first), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(rig.device, rig.pinned, sizeof two, cudaMemcpyHostToDevice, rig.first), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(rig.device, two, sizeof two, cudaMemcpyHostToDevice, rig.first), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(rig.first), cudaErrorIllegalAddress) << "past the allocation's end";
}

}  // namespace
}  // namespace cuda_emulation
