// The device functions that kernels call: indices, barriers, warp collectives, memory, arithmetic.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

// Set before a thread runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace cuda_emulation {

enum class Meeting : std::uint8_t { block_barrier, warp_barrier, shuffle_xor, shuffle_down, shuffle, any, all, ballot };
#if defined(__cpp_lib_source_location)
using Place = std::source_location;
#else  // clang 14, which fuzzing builds with; without the column, two meetings of one line are one place
class Place {
 public:
  static constexpr Place current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return Place(file, line); }
  constexpr Place() = default;
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return 0; }

 private:
  constexpr Place(const char* file, unsigned line) : file_(file), line_(line) {}
  const char* file_ = "";
  unsigned line_ = 0;
};
#endif

// Waits until all threads that take part stand at the same place; gives this thread's result.
std::uint64_t meet(Meeting meeting, unsigned mask, std::uint64_t value, int argument, const Place& place);

// Checked and counted access to device memory, or to pinned host memory.
void read_memory(const void* from, void* to, std::size_t bytes);
void write_memory(void* to, const void* from, std::size_t bytes);
// Device memory or the block's shared memory; nobody comes between.
std::byte* memory_of_atomic(void* at, std::size_t bytes);

void copy_to_shared(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(std::size_t groups_left);

float slightly_off(float exact);

template <class T>
T shuffled(Meeting meeting, unsigned mask, T value, int argument, const Place& place) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = meet(meeting, mask, word, argument, place);
  std::memcpy(&value, &word, sizeof value);
  return value;
}

template <class T>
T loaded(const T* from) {
  T value;
  read_memory(from, &value, sizeof value);
  return value;
}

template <class T, class Change>
T changed(T* at, Change change) {
  std::byte* memory = memory_of_atomic(at, sizeof(T));
  T old;
  std::memcpy(&old, memory, sizeof old);
  const T fresh = change(old);
  std::memcpy(memory, &fresh, sizeof fresh);
  return old;
}

}  // namespace cuda_emulation

unsigned char* emulated_shared_memory();

inline void __syncthreads(cuda_emulation::Place place = cuda_emulation::Place::current()) {
  cuda_emulation::meet(cuda_emulation::Meeting::block_barrier, 0, 0, 0, place);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  cuda_emulation::meet(cuda_emulation::Meeting::warp_barrier, mask, 0, 0, place);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  return cuda_emulation::shuffled(cuda_emulation::Meeting::shuffle_xor, mask, value, lanes, place);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  return cuda_emulation::shuffled(cuda_emulation::Meeting::shuffle_down, mask, value, static_cast<int>(lanes), place);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  return cuda_emulation::shuffled(cuda_emulation::Meeting::shuffle, mask, value, lane, place);
}
inline int __any_sync(unsigned mask, int is_set, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  return static_cast<int>(cuda_emulation::meet(cuda_emulation::Meeting::any, mask, is_set != 0, 0, place));
}
inline int __all_sync(unsigned mask, int is_set, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  return static_cast<int>(cuda_emulation::meet(cuda_emulation::Meeting::all, mask, is_set != 0, 0, place));
}
inline unsigned __ballot_sync(unsigned mask, int is_set, cuda_emulation::Place place = cuda_emulation::Place::current()) {
  return static_cast<unsigned>(cuda_emulation::meet(cuda_emulation::Meeting::ballot, mask, is_set != 0, 0, place));
}

template <class T>
T __ldg(const T* from) { return cuda_emulation::loaded(from); }
template <class T>
T __ldcs(const T* from) { return cuda_emulation::loaded(from); }
template <class T>
T __ldcg(const T* from) { return cuda_emulation::loaded(from); }
template <class T>
void __stcs(T* to, std::type_identity_t<T> value) { cuda_emulation::write_memory(to, &value, sizeof value); }
template <class T>
void __stcg(T* to, std::type_identity_t<T> value) { cuda_emulation::write_memory(to, &value, sizeof value); }

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return cuda_emulation::changed(at, [&](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return cuda_emulation::changed(at, [&](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return cuda_emulation::changed(at, [&](T old) { return value < old ? value : old; });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return cuda_emulation::changed(at, [&](T old) { return old | value; });
}

inline float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __log2f(float x) { return cuda_emulation::slightly_off(std::log2(x)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
