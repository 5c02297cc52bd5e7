#include "kernels/placement.hpp"

#include <omp.h>
#include <sched.h>

#include <cstdlib>
#include <vector>

#include "kernels/cpu/home_thread.hpp"
#include "kernels/cpu/team_cores.hpp"

namespace lynxkv::kernels {
namespace {

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
  if (threads < 2 || std::getenv("OMP_PROC_BIND") != nullptr) return;
  cpu_set_t allowed;
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
  placed = true;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_ISSET(cores[number], &mine)) keep_to(cores[number]);
}

std::span<const int> team_cores() noexcept { return cores; }

// Somebody may change the masks of a running program; what they leave is all that is used.
KeepToOneCore::KeepToOneCore() noexcept {
  static_assert(sizeof before_ == sizeof(cpu_set_t));
  if (cores.empty() || !on_home_thread()) return;
  auto* mask = reinterpret_cast<cpu_set_t*>(before_.data());
  if (sched_getaffinity(0, sizeof before_, mask) != 0) return;
  placed_ = CPU_COUNT(mask) == static_cast<int>(cores.size()) && CPU_ISSET(cores.front(), mask);
  if (placed_) keep_to(cores.front());
}

KeepToOneCore::~KeepToOneCore() {
  if (placed_) sched_setaffinity(0, sizeof before_, reinterpret_cast<const cpu_set_t*>(before_.data()));
}

}  // namespace lynxkv::kernels
