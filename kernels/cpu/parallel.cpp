#include "kernels/parallel.hpp"

#include <Kokkos_Core.hpp>
#include <atomic>

#include "kernels/cpu/home_thread.hpp"
#include "kernels/cpu/team_cores.hpp"
#include "kernels/runtime.hpp"

namespace lynxkv::kernels {

void parallel_for(int tasks, TaskBody body) {
  if (tasks <= 0) return;
  const int workers = on_home_thread() ? (runtime_threads() < tasks ? runtime_threads() : tasks) : 1;
  if (workers <= 1) {
    for (int task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  // One index a worker; the tasks themselves come from a counter, so that uneven ones balance.
  std::atomic<int> next{0};
  leave_home_thread();  // a parallel_for inside the body runs in place
  Kokkos::parallel_for("lynxkv", Kokkos::RangePolicy<>(0, workers, Kokkos::ChunkSize(1)),
                       [&](const int worker) {
                         place_team_thread();
                         for (int task = next.fetch_add(1, std::memory_order_relaxed); task < tasks;
                              task = next.fetch_add(1, std::memory_order_relaxed))
                           body(task, worker);
                       });
  Kokkos::fence();
  return_to_home_thread();
}

void parallel_for(int tasks, std::size_t values, double picoseconds, TaskBody body) {
  if (static_cast<double>(values) * picoseconds >= parallel_worth_us * 1e6) return parallel_for(tasks, body);
  for (int task = 0; task < tasks; ++task) body(task, 0);
}

}  // namespace lynxkv::kernels
