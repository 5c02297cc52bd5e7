// The generators' random numbers: SplitMix64 (Steele, Lea, Flood 2014) and what is drawn from it. Written
// here because the distributions of the standard library differ between implementations; a sample must not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lynxkv::suite {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Even over 0 .. count-1; count > 0. Draws again in the rare case that would favour small numbers.
  std::uint64_t below(std::uint64_t count) noexcept {
    const std::uint64_t unfair = (0 - count) % count;
    for (;;) {
      const unsigned __int128 wide = static_cast<unsigned __int128>(next()) * count;
      if (static_cast<std::uint64_t>(wide) >= unfair) return static_cast<std::uint64_t>(wide >> 64);
    }
  }
  // 0 <= x < 1, a multiple of 2^-53.
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

  template <class T>
  const T& pick(const std::vector<T>& from) noexcept {
    return from[static_cast<std::size_t>(below(from.size()))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace lynxkv::suite
