#include "kernels/placement.hpp"

#include <omp.h>
#include <sched.h>

#include <vector>

#include "kernels/cpu/home_thread.hpp"
#include "kernels/cpu/team_cores.hpp"

namespace lynxkv::kernels {
namespace {

cpu_set_t allowed;
std::vector<int> cores;

// Refusals do no harm: the thread stays where the scheduler has it.
void keep_to(int core) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

void choose_team_cores(int threads) {
  cores.clear();
  if (threads < 2 || omp_get_proc_bind() != omp_proc_bind_false) return;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != threads) return;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
}

void place_team_thread() noexcept {
  static thread_local bool placed = false;
  if (placed || cores.empty()) return;
  const auto number = static_cast<std::size_t>(omp_get_thread_num());
  if (number == 0 || number >= cores.size()) return;
  keep_to(cores[number]);
  placed = true;
}

std::span<const int> team_cores() noexcept { return cores; }

KeepToOneCore::KeepToOneCore() noexcept : placed_(!cores.empty() && on_home_thread()) {
  if (placed_) keep_to(cores.front());
}

KeepToOneCore::~KeepToOneCore() {
  if (placed_) sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace lynxkv::kernels
