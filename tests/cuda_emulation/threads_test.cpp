// The emulation itself: threads, barriers, warps, memory. A double that misses faults proves nothing.
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda_emulation/emulation.hpp"

namespace cuda_emulation {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Runs a kernel and gives the device's error.
template <class... Expected, class... Actual>
cudaError_t run(void (*kernel)(Expected...), unsigned blocks, unsigned threads, std::size_t shared_bytes, Actual... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...); error != cudaSuccess) return error;
  return cudaDeviceSynchronize();
}

int* device_ints(std::size_t count) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, count * sizeof(int)), cudaSuccess);
  return static_cast<int*>(memory);
}
std::vector<int> host_ints(const int* device, std::size_t count) {
  std::vector<int> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), device, count * sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  return values;
}

__global__ void write_indices(int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  __stcs(out + i, static_cast<int>(i));
}

TEST(Emulation, RunsEveryThreadOfEveryBlockOnce) {
  reset({});
  int* out = device_ints(96);
  ASSERT_EQ(run(write_indices, 3, 32, 0, out), cudaSuccess);
  const std::vector<int> values = host_ints(out, 96);
  for (int i = 0; i < 96; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
}

// Each thread reads what its neighbour wrote.
__global__ void rotate(int* out, bool with_barrier) {
  int* shared = reinterpret_cast<int*>(emulated_shared_memory());
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (with_barrier) __syncthreads();
  __stcs(out + threadIdx.x, shared[(threadIdx.x + 1) % blockDim.x]);
}
bool rotated(std::uint64_t seed, bool with_barrier) {
  reset({seed, Order::drawn, 1});
  int* out = device_ints(64);
  EXPECT_EQ(run(rotate, 1, 64, 64 * sizeof(int), out, with_barrier), cudaSuccess);
  const std::vector<int> values = host_ints(out, 64);
  for (int i = 0; i < 64; ++i)
    if (values[static_cast<std::size_t>(i)] != (i + 1) % 64) return false;
  return true;
}

TEST(Emulation, ShowsAMissingBarrierAsWrongBytes) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_TRUE(rotated(seed, true));
    EXPECT_FALSE(rotated(seed, false));
  }
}

__global__ void some_leave_before_the_barrier() {
  if (threadIdx.x == 5) return;
  __syncthreads();
}
__global__ void two_barriers() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

TEST(Emulation, SeesABarrierThatSomeThreadsNeverReach) {
  reset({});
  EXPECT_EQ(run(some_leave_before_the_barrier, 1, 64, 0), cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(last_fault(), "63 at threads_test.cpp:")) << last_fault();
  EXPECT_TRUE(contains(last_fault(), "1 have ended")) << last_fault();
}
TEST(Emulation, SeesThreadsThatMeetAtDifferentBarriers) {
  reset({});
  EXPECT_EQ(run(two_barriers, 1, 64, 0), cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(last_fault(), "two barriers")) << last_fault();
}

__global__ void exchange(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32), i = static_cast<int>(threadIdx.x);
  __stcs(out + 8 * i + 0, __shfl_xor_sync(0xffffffffu, i, 3));
  __stcs(out + 8 * i + 1, __shfl_down_sync(0xffffffffu, i, 1u));
  __stcs(out + 8 * i + 2, __shfl_sync(0xffffffffu, i, 7));
  __stcs(out + 8 * i + 3, __any_sync(0xffffffffu, i == 40));
  __stcs(out + 8 * i + 4, __all_sync(0xffffffffu, i < 40));
  __stcs(out + 8 * i + 5, static_cast<int>(__ballot_sync(0xffffffffu, lane % 4 == 1)));
  int sum = 0;
  if (lane < 16) sum = __shfl_xor_sync(0x0000ffffu, i, 1);
  __stcs(out + 8 * i + 6, sum);
  __stcs(out + 8 * i + 7, static_cast<int>(__float_as_uint(__shfl_xor_sync(0xffffffffu, static_cast<float>(lane), 1))));
}

TEST(Emulation, ExchangesValuesInsideAWarp) {
  reset({});
  int* out = device_ints(64 * 8);
  ASSERT_EQ(run(exchange, 1, 64, 0, out), cudaSuccess) << last_fault();
  const std::vector<int> values = host_ints(out, 64 * 8);
  for (int i = 0; i < 64; ++i) {
    const int* got = values.data() + 8 * i;
    const int lane = i % 32, warp = i / 32;
    EXPECT_EQ(got[0], i ^ 3);
    EXPECT_EQ(got[1], lane == 31 ? i : i + 1);
    EXPECT_EQ(got[2], warp * 32 + 7);
    EXPECT_EQ(got[3], warp == 1);
    EXPECT_EQ(got[4], warp == 0);
    EXPECT_EQ(static_cast<unsigned>(got[5]), 0x22222222u);
    EXPECT_EQ(got[6], lane < 16 ? i ^ 1 : 0);
    EXPECT_EQ(__uint_as_float(static_cast<unsigned>(got[7])), static_cast<float>(lane ^ 1));
  }
}

__global__ void one_lane_stays_away() {
  if (threadIdx.x != 9) __syncwarp();
}
__global__ void outside_its_own_mask() {
  if (threadIdx.x == 3) __syncwarp(0x1u);
}

TEST(Emulation, SeesALaneThatStaysAwayFromItsWarp) {
  reset({});
  EXPECT_EQ(run(one_lane_stays_away, 1, 32, 0), cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(last_fault(), "31 at threads_test.cpp:")) << last_fault();
  reset({});
  EXPECT_EQ(run(outside_its_own_mask, 1, 32, 0), cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(last_fault(), "not in the mask")) << last_fault();
}

__global__ void read_at(const int* in, long offset, int* out) { __stcs(out, __ldcs(in + offset)); }
__global__ void write_at(int* out, long offset) { __stcs(out + offset, 1); }
__global__ void read_crooked(const int* in, int* out) {
  __stcs(out, __ldg(reinterpret_cast<const int*>(reinterpret_cast<const char*>(in) + 2)));
}
__global__ void read_plainly(const int* in, int* out) { __stcs(out, *in); }
__global__ void past_shared_memory() { emulated_shared_memory()[128] = 1; }

TEST(Emulation, SeesAccessOutOfBounds) {
  for (const long offset : {-1L, 10L, 100000L}) {
    reset({});
    int *in = device_ints(10), *out = device_ints(10);
    EXPECT_EQ(run(read_at, 1, 1, 0, in, offset, out), cudaErrorIllegalAddress) << offset;
    reset({});
    out = device_ints(10);
    EXPECT_EQ(run(write_at, 1, 1, 0, out, offset), cudaErrorIllegalAddress) << offset;
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress) << "a fault stays";
  }
  reset({});
  int* in = device_ints(10);
  EXPECT_EQ(run(read_crooked, 1, 1, 0, in, in), cudaErrorMisalignedAddress);
}

TEST(Emulation, SeesMemoryThatWasFreed) {
  reset({});
  int *in = device_ints(10), *out = device_ints(1);
  ASSERT_EQ(cudaFree(in), cudaSuccess);
  EXPECT_EQ(run(read_at, 1, 1, 0, in, 0L, out), cudaErrorIllegalAddress);
}

TEST(Emulation, SeesAccessThatWouldEscapeTheCount) {
  reset({});
  int *in = device_ints(10), *out = device_ints(1);
  EXPECT_EQ(run(read_plainly, 1, 1, 0, in, out), cudaErrorIllegalAddress);
  EXPECT_TRUE(contains(last_fault(), "without a device function")) << last_fault();
  reset({});
  EXPECT_EQ(run(past_shared_memory, 1, 1, 128), cudaErrorIllegalAddress);
}

TEST(EmulationDeathTest, StopsHostCodeThatTouchesDeviceMemory) {
  reset({});
  const int* device = device_ints(1);
  EXPECT_DEATH({ [[maybe_unused]] const volatile int value = *device; }, "host code touched device memory");
}

__global__ void copy_late(const int* in, int* out, bool waits) {
  int* shared = reinterpret_cast<int*>(emulated_shared_memory());
  __pipeline_memcpy_async(shared + threadIdx.x, in + threadIdx.x, sizeof(int));
  __pipeline_commit();
  if (waits) __pipeline_wait_prior(0);
  __stcs(out + threadIdx.x, shared[threadIdx.x]);
}

TEST(Emulation, LetsCopiesToSharedMemoryArriveLate) {
  for (const bool waits : {true, false}) {
    reset({});
    int *in = device_ints(64), *out = device_ints(64);
    ASSERT_EQ(run(write_indices, 1, 64, 0, in), cudaSuccess);
    ASSERT_EQ(run(copy_late, 1, 64, 256, in, out, waits), cudaSuccess);
    EXPECT_EQ(host_ints(out, 64) == host_ints(in, 64), waits);
  }
}

__global__ void nothing() {}

TEST(Emulation, RefusesImpossibleLaunches) {
  reset({});
  EXPECT_EQ(run(nothing, 1, 1025, 0), cudaErrorInvalidValue);
  EXPECT_EQ(run(nothing, 0, 32, 0), cudaErrorInvalidValue);
  EXPECT_EQ(run(nothing, 1, 32, 49 * 1024), cudaErrorInvalidValue) << "more shared memory than a kernel has without asking";
  EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 49 * 1024), cudaSuccess);
  EXPECT_EQ(run(nothing, 1, 32, 49 * 1024), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024), cudaErrorInvalidValue);
}

__global__ void count_up(unsigned* total) { atomicAdd(total, 2u); }

TEST(Emulation, CountsBytesSectorsAndAtomics) {
  reset({});
  int *in = device_ints(64), *out = device_ints(64);
  ASSERT_EQ(run(write_indices, 2, 32, 0, in), cudaSuccess);
  EXPECT_EQ(traffic().bytes_written, 256u);
  EXPECT_EQ(traffic().sectors_written, 8u);
  clear_traffic();
  ASSERT_EQ(run(read_at, 2, 32, 0, in, 3L, out), cudaSuccess);  // all threads read and write the same
  EXPECT_EQ(traffic().bytes_read, 256u);
  EXPECT_EQ(traffic().sectors_read, 1u);
  EXPECT_EQ(traffic().sectors_written, 1u);
  ASSERT_EQ(cudaMemset(out, 0, 4), cudaSuccess);
  ASSERT_EQ(run(count_up, 2, 32, 0, reinterpret_cast<unsigned*>(out)), cudaSuccess);
  EXPECT_EQ(traffic().atomics, 64u);
  EXPECT_EQ(host_ints(out, 1)[0], 128);
}

}  // namespace
}  // namespace cuda_emulation
