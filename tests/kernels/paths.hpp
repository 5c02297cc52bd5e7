// Runs a test body on every kernel path that this CPU has, and leaves the best one set.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/runtime.hpp"

namespace lynxkv::testing {

using kernels::best_isa;
using kernels::Isa;
using kernels::name_of;
using kernels::start_runtime;

inline constexpr int test_threads = 3;  // more than some tasks have parts, and not a power of two

template <class Body>
void on_every_path(Body&& body) {
  for (const Isa isa : {Isa::amx, Isa::avx512_bf16, Isa::avx512, Isa::avx2}) {
    if (isa < best_isa()) continue;
    SCOPED_TRACE(std::string(name_of(isa)));
    start_runtime(test_threads, isa);
    body();
  }
  start_runtime(test_threads, best_isa());
}

// Values in [-1, 1] that differ from place to place and from seed to seed.
inline std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  std::vector<float> values(count);
  for (float& x : values) x = value(engine);
  return values;
}

}  // namespace lynxkv::testing
