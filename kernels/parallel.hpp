// Dispatch of independent tasks over the runtime's threads.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace lynxkv::kernels {

// A reference to a callable `void(int task, int worker)`; it does not own it.
class TaskBody {
 public:
  template <class Body, class = std::enable_if_t<!std::is_same_v<std::decay_t<Body>, TaskBody>>>
  TaskBody(Body&& body) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* object, int task, int worker) {
          (*static_cast<std::remove_reference_t<Body>*>(object))(task, worker);
        }) {}
  void operator()(int task, int worker) const { call_(object_, task, worker); }

 private:
  void* object_;
  void (*call_)(void*, int, int);
};

// Runs body(task, worker) for every task of [0, tasks), each once, in any order; worker < runtime_threads()
// names the thread, so that it can have its own scratch memory. Returns when all are done. What a task
// computes must not depend on who runs it. The body must not throw. Inside a body, and on threads other than
// the one that started the runtime, the tasks run one after the other.
void parallel_for(int tasks, TaskBody body);

// The same for work whose size is known: `values` of a page tensor, each at about `picoseconds` on one thread. What
// one thread does in less than parallel_worth_us stays with it: a team of threads on cores that others use too costs
// more, and the other threads of a rank (its traffic) need those cores meanwhile.
constexpr double parallel_worth_us = 150;
void parallel_for(int tasks, std::size_t values, double picoseconds, TaskBody body);

}  // namespace lynxkv::kernels
