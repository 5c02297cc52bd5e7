#include "kernels/runtime.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <hwy/targets.h>
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "base/check.hpp"
#include "base/error.hpp"
#include "kernels/cpu/home_thread.hpp"
#include "kernels/cpu/team_cores.hpp"

namespace lynxkv::kernels {
namespace {

struct Runtime {
  std::mutex mutex;
  int pool_threads = 0;
  int threads = 0;
  Isa isa = Isa::avx2;
};
Runtime runtime;
// Kokkos knows only the thread that initialised it, and has one pool: no other thread may dispatch.
thread_local bool home = false;

void start_pool(int threads) {
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;
  arguments.num_threads = threads;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
  std::atexit([] { Kokkos::finalize(); });
  home = true;
  choose_team_cores(threads);
}

// Highway picks the best target that is left; a lower path must not use wider vectors, whose sums differ.
void limit_vectors(Isa isa) {
#if HWY_ARCH_X86
  hwy::DisableTargets(isa == Isa::avx2 ? HWY_AVX3 | HWY_AVX3_DL : 0);
#else
  (void)isa;
#endif
}

// oneDNN takes a limit only before its first use. Only the AMX path has to be told apart: the others choose
// their oneDNN kernels by data type.
void limit_onednn(Isa isa) {
  if (isa != Isa::amx && best_isa() == Isa::amx) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
}

#if defined(__x86_64__)
// The CPU has tiles with bf16 products, and the system saves them. oneDNN could say so too, but asking it
// fixes its limit, which start_runtime may still have to set.
bool has_amx() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(1, 0, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24, tile_state = 3u << 17;
  if ((edx & amx_bf16) == 0 || (edx & amx_tile) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & tile_state) == tile_state;
}
#endif

}  // namespace

Isa best_isa() noexcept {
#if defined(__x86_64__)
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (wide && __builtin_cpu_supports("avx512bf16")) {
    static const bool amx = has_amx();
    return amx ? Isa::amx : Isa::avx512_bf16;
  }
  return wide ? Isa::avx512 : Isa::avx2;
#else
  return Isa::avx2;
#endif
}

std::string_view name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx:
      return "amx";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
  }
  return "?";
}

void start_runtime(int threads, Isa isa) {
  LYNXKV_CHECK(threads > 0);
  if (threads > most_threads)
    throw Error(ErrorCode::usage, "threads", std::to_string(threads) + " asked for; there can be " + std::to_string(most_threads) + " at most");
  if (isa < best_isa())
    throw Error(ErrorCode::usage, "engine.isa",
                std::string(name_of(isa)) + " asked for; this CPU has " + std::string(name_of(best_isa())) +
                    " at best: choose auto or a lower path");
  const std::lock_guard lock(runtime.mutex);
  if (runtime.pool_threads == 0) {
    limit_onednn(isa);
    start_pool(threads);
    runtime.pool_threads = threads;
  } else if (threads > runtime.pool_threads) {
    throw Error(ErrorCode::usage, "engine.threads",
                std::to_string(threads) + " threads asked for; the runtime was started with " +
                    std::to_string(runtime.pool_threads));
  }
  if (home) omp_set_num_threads(threads);
  limit_vectors(isa);
  runtime.threads = threads;
  runtime.isa = isa;
}

void ensure_runtime() {
  {
    const std::lock_guard lock(runtime.mutex);
    if (runtime.pool_threads != 0) return;
  }
  start_runtime(1, best_isa());
}

int runtime_threads() noexcept {
  return runtime.threads;
}
Isa runtime_isa() noexcept {
  return runtime.isa;
}

bool on_home_thread() noexcept {
  return home;
}
void leave_home_thread() noexcept {
  home = false;
}
void return_to_home_thread() noexcept {
  home = true;
}

}  // namespace lynxkv::kernels
