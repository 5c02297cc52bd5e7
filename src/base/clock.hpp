// One steady clock per host. Durations never mix two hosts' clocks: comm/clock_offset.hpp translates.
#pragma once

#include <chrono>
#include <cstdint>

namespace lynxkv {

// Nanoseconds of this host's monotonic clock (the same for all processes of one host).
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double seconds_between(std::int64_t from_ns, std::int64_t to_ns) noexcept {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace lynxkv
