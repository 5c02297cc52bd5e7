#include "tests/cuda_emulation/emulator/threads.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/cuda_emulation/emulator/block.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cuda_emulation {
namespace {

struct Signals {
  Threads* threads = nullptr;
  Memory* memory = nullptr;
  bool installed = false;
} signals;

void on_segmentation_fault(int, siginfo_t* info, void*) {
  if (signals.threads != nullptr && signals.threads->inside()) signals.threads->leave_by_signal(info->si_addr);
  if (signals.memory != nullptr && signals.memory->is_device_address(info->si_addr)) {
    const char text[] = "CUDA emulation: host code touched device memory\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  }
  ::signal(SIGSEGV, SIG_DFL);  // and again, this time for good
}

void install_signal_handler() {
  if (signals.installed) return;
  static unsigned char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_segmentation_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  signals.installed = true;
}

void check_alignment(const void* at, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(at) % bytes == 0) return;
  std::ostringstream text;
  text << "access of " << bytes << " bytes at " << at << ", which is not a multiple";
  throw Fault{cudaErrorMisalignedAddress, text.str()};
}

}  // namespace

Threads::Threads(Memory& memory, std::mt19937_64& draw) : block_(std::make_unique<Block>(memory, draw)) {
  signals.threads = this;
  signals.memory = &memory;
  install_signal_handler();
}

Threads::~Threads() {
  signals.threads = nullptr;
  signals.memory = nullptr;
}

bool Threads::inside() const noexcept { return block_->running != nullptr; }

void Threads::run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
  block_->memory.begin_launch();
  ++block_->memory.traffic.launches;
  block_->body = &body;
  gridDim = grid;
  blockDim = block;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        block_->run(block, shared_bytes);
      }
}

std::uint64_t Threads::meet(Meeting meeting, unsigned mask, std::uint64_t value, int argument, const Place& place) {
  Thread& thread = *block_->running;
  thread.meeting = meeting;
  thread.mask = mask;
  thread.value = value;
  thread.argument = argument;
  thread.place = place;
  thread.state = Thread::State::waiting;
  thread.fiber.give_way(false);
  return thread.value;
}

void Threads::read(const void* from, void* to, std::size_t bytes) {
  check_alignment(from, bytes);
  const bool pinned = block_->memory.is_pinned(from, bytes);
  std::memcpy(to, pinned ? from : block_->memory.resolve(from, bytes, Access::read, true), bytes);
}

void Threads::write(void* to, const void* from, std::size_t bytes) {
  check_alignment(to, bytes);
  const bool pinned = block_->memory.is_pinned(to, bytes);
  std::memcpy(pinned ? to : block_->memory.resolve(to, bytes, Access::write, true), from, bytes);
}

std::byte* Threads::memory_of_atomic(void* at, std::size_t bytes) {
  check_alignment(at, bytes);
  if (block_->shared.holds(at, bytes)) return static_cast<std::byte*>(at);
  ++block_->memory.traffic.atomics;
  return block_->memory.resolve(at, bytes, Access::write, false);
}

void Threads::copy_to_shared(void* to, const void* from, std::size_t bytes) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    throw Fault{cudaErrorInvalidValue, "an asynchronous copy of " + std::to_string(bytes) + " bytes; only 4, 8 and 16 can be"};
  check_alignment(from, bytes);
  check_alignment(to, bytes);
  if (!block_->shared.holds(to, bytes)) throw Fault{cudaErrorIllegalAddress, "an asynchronous copy past the end of shared memory"};
  const std::byte* data = block_->memory.resolve(from, bytes, Access::read, true);
  if (block_->draw() % 2 == 0)
    std::memcpy(to, data, bytes);  // it may arrive at once, and it may not
  else
    block_->running->open_copies.push_back({static_cast<std::byte*>(to), from, bytes});
}

void Threads::commit_copies() {
  Thread& thread = *block_->running;
  thread.committed_copies.push_back(std::move(thread.open_copies));
  thread.open_copies.clear();
}

void Threads::wait_for_copies(std::size_t groups_left) {
  Thread& thread = *block_->running;
  while (thread.committed_copies.size() > groups_left) {
    block_->finish(thread.committed_copies.front());
    thread.committed_copies.pop_front();
  }
}

unsigned char* Threads::shared_memory() noexcept { return block_->shared.data(); }

void Threads::leave_by_signal(const void* at) {
  std::ostringstream text;
  text << "a kernel touched memory at " << at << " that it may not, or not without a device function such as __ldg";
  block_->fault = Fault{cudaErrorIllegalAddress, text.str()};
  block_->running->state = Thread::State::ended;
  block_->running->fiber.left_by_signal();
  std::abort();
}

}  // namespace cuda_emulation
