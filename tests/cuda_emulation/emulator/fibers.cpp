#include "tests/cuda_emulation/emulator/fibers.hpp"

#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define LYNXKV_SWITCH_STARTS(keep, stack, bytes) __sanitizer_start_switch_fiber(keep, stack, bytes)
#define LYNXKV_SWITCH_ENDS(kept, stack, bytes) __sanitizer_finish_switch_fiber(kept, stack, bytes)
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define LYNXKV_SWITCH_STARTS(keep, stack, bytes) ((void)(keep), (void)(stack), (void)(bytes))
#define LYNXKV_SWITCH_ENDS(kept, stack, bytes) ((void)(kept), (void)(stack), (void)(bytes))
#else
#define LYNXKV_SWITCH_STARTS(keep, stack, bytes) ((void)(keep), (void)(stack), (void)(bytes))
#define LYNXKV_SWITCH_ENDS(kept, stack, bytes) ((void)(kept), (void)(stack), (void)(bytes))
#endif

namespace cuda_emulation {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::size_t guard_bytes = 4096;

#if defined(__SANITIZE_THREAD__)
void* make_tsan_fiber() { return __tsan_create_fiber(0); }
void* tsan_scheduler() { return __tsan_get_current_fiber(); }
void tsan_switch(void* fiber) { __tsan_switch_to_fiber(fiber, 0); }
#else
void* make_tsan_fiber() { return nullptr; }
void* tsan_scheduler() { return nullptr; }
void tsan_switch(void*) {}
#endif

// Of the thread that schedules: learned at the first switch away from it.
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_bytes = 0;

}  // namespace

Fiber::Fiber() {
  void* memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(memory);
  mprotect(stack_, guard_bytes, PROT_NONE);
  tsan_fiber_ = make_tsan_fiber();
}

Fiber::~Fiber() { munmap(stack_, guard_bytes + stack_bytes); }

void Fiber::start(Entry entry) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_ + guard_bytes;
  context_.uc_stack.ss_size = stack_bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
}

void Fiber::resume() {
  void* kept = nullptr;
  LYNXKV_SWITCH_STARTS(&kept, stack_ + guard_bytes, stack_bytes);
  tsan_scheduler_ = tsan_scheduler();
  tsan_switch(tsan_fiber_);
  swapcontext(&scheduler_, &context_);
  LYNXKV_SWITCH_ENDS(kept, nullptr, nullptr);
}

void Fiber::entered() { LYNXKV_SWITCH_ENDS(nullptr, &scheduler_stack, &scheduler_stack_bytes); }

void Fiber::give_way(bool ends) {
  LYNXKV_SWITCH_STARTS(ends ? nullptr : &fake_stack_, scheduler_stack, scheduler_stack_bytes);
  tsan_switch(tsan_scheduler_);
  swapcontext(&context_, &scheduler_);
  LYNXKV_SWITCH_ENDS(fake_stack_, &scheduler_stack, &scheduler_stack_bytes);
}

void Fiber::left_by_signal() {
  LYNXKV_SWITCH_STARTS(nullptr, scheduler_stack, scheduler_stack_bytes);
  tsan_switch(tsan_scheduler_);
  setcontext(&scheduler_);
}

}  // namespace cuda_emulation
