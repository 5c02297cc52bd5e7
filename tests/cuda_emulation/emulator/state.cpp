#include "tests/cuda_emulation/emulator/state.hpp"

namespace cuda_emulation {
namespace {

std::unique_ptr<State>& holder() {
  static std::unique_ptr<State> only;
  return only;
}

}  // namespace

State& state() {
  std::unique_ptr<State>& only = holder();
  if (!only) only = std::make_unique<State>(Setup{});
  return *only;
}

std::recursive_mutex& lock() {
  static std::recursive_mutex mutex;
  return mutex;
}

void State::run_guarded(const std::function<void()>& work) {
  if (sticky != cudaSuccess) return;
  try {
    work();
  } catch (const Fault& caught) {
    sticky = latest = caught.error;
    fault = caught.text;
  }
}

void reset(const Setup& setup) {
  const std::lock_guard guard(lock());
  holder().reset();
  holder() = std::make_unique<State>(setup);
}

const Traffic& traffic() { return state().memory.traffic; }
void clear_traffic() { state().memory.traffic = Traffic{}; }
const std::string& last_fault() { return state().fault; }

std::uint64_t meet(Meeting meeting, unsigned mask, std::uint64_t value, int argument, const Place& place) {
  return state().threads.meet(meeting, mask, value, argument, place);
}
void read_memory(const void* from, void* to, std::size_t bytes) { state().threads.read(from, to, bytes); }
void write_memory(void* to, const void* from, std::size_t bytes) { state().threads.write(to, from, bytes); }
std::byte* memory_of_atomic(void* at, std::size_t bytes) { return state().threads.memory_of_atomic(at, bytes); }
void copy_to_shared(void* to, const void* from, std::size_t bytes) { state().threads.copy_to_shared(to, from, bytes); }
void commit_copies() { state().threads.commit_copies(); }
void wait_for_copies(std::size_t groups_left) { state().threads.wait_for_copies(groups_left); }

// The real one's error is about 2^-22; this one is larger, so that nothing can lean on it.
float slightly_off(float exact) {
  const float drawn = static_cast<float>(state().draw() % 2001) / 1000.0f - 1.0f;
  return exact + drawn * 0x1p-19f;
}

}  // namespace cuda_emulation

unsigned char* emulated_shared_memory() { return cuda_emulation::state().threads.shared_memory(); }
