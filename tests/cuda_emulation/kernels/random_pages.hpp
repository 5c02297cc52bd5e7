// Pages drawn from a seed, of the kinds that kernels get wrong.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "base/bf16.hpp"

namespace lynxkv::kernels::cuda::rig {

enum class Kind { bell, constant_channels, tiny, denormal, large, few_values, outliers, bits, count };

inline Bf16 drawn_value(Kind kind, int channel, std::mt19937& draw) {
  std::normal_distribution<float> bell;
  switch (kind) {
    case Kind::bell: return to_bf16(bell(draw) * static_cast<float>(1 + channel % 5) + static_cast<float>(channel % 3));
    case Kind::constant_channels: return channel % 3 == 0 ? to_bf16(1.5f) : channel % 3 == 1 ? Bf16{static_cast<std::uint16_t>(draw() % 2 << 15)} : to_bf16(bell(draw));
    case Kind::tiny: return to_bf16(std::ldexp(bell(draw), -100 - channel % 20));
    case Kind::denormal: return Bf16{static_cast<std::uint16_t>((draw() % 2 << 15) | draw() % static_cast<unsigned>(2 + 40 * (channel % 8)))};
    case Kind::large: return to_bf16(std::ldexp(bell(draw) > 0 ? 1.0f : -1.5f, 125 - static_cast<int>(draw() % 3)));
    case Kind::few_values: return to_bf16(static_cast<float>(draw() % 5) * 0.25f);
    case Kind::outliers: return to_bf16(bell(draw) * (draw() % 64 == 0 ? 1000.0f : 0.01f));
    default: {
      Bf16 x{static_cast<std::uint16_t>(draw())};
      while ((x.bits & 0x7fffu) >= 0x7e80u) x.bits = static_cast<std::uint16_t>(draw());
      return x;
    }
  }
}

inline std::vector<Bf16> drawn_page(Kind kind, int tokens, int channels, std::mt19937& draw) {
  std::vector<Bf16> rows(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = drawn_value(kind, static_cast<int>(i % static_cast<std::size_t>(channels)), draw);
  return rows;
}

}  // namespace lynxkv::kernels::cuda::rig
