// The compute runtime of a process: how many threads the kernels use and which instructions they may use.
// Started once, before the first kernel; it ends by itself when the process exits.
#pragma once

#include <string_view>

namespace lynxkv::kernels {

// Kernel paths, best first. Results are bit-equal only between runs on the same path.
enum class Isa { amx, avx512_bf16, avx512, avx2 };

// The best path that this CPU has.
Isa best_isa() noexcept;
std::string_view name_of(Isa isa) noexcept;

// Starts the runtime. The thread that calls it first is the one that may compute in parallel; kernels that
// another thread calls run on that thread alone. A later call may lower the number of threads or choose
// another path (tests do); asking for more threads than the first call gave is an Error{usage}, as is a path
// that the CPU lacks.
void start_runtime(int threads, Isa isa);
// Of a rank. The pool of Kokkos' OpenMP back end has no room for more.
constexpr int most_threads = 512;

// As start_runtime(1, best_isa()) where nobody started it yet; else nothing.
void ensure_runtime();

int runtime_threads() noexcept;  // 0 before the start
Isa runtime_isa() noexcept;

}  // namespace lynxkv::kernels
