// A fiber: a stack of its own that gives way when it says so. The sanitizers are told of each switch.
#pragma once

#include <ucontext.h>

#include <cstddef>

namespace cuda_emulation {

class Fiber {
 public:
  using Entry = void (*)();

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void start(Entry entry);   // what it ran before is forgotten
  void resume();             // from the scheduler, until the fiber gives way or ends
  void give_way(bool ends);  // from the fiber
  static void entered();     // the first thing that an entry calls
  void left_by_signal();     // the scheduler goes on in its place

 private:
  std::byte* stack_ = nullptr;
  ucontext_t context_{}, scheduler_{};
  void* fake_stack_ = nullptr;                                // AddressSanitizer's
  void *tsan_fiber_ = nullptr, *tsan_scheduler_ = nullptr;  // ThreadSanitizer's
};

}  // namespace cuda_emulation
