// How the kernels store matrices: bf16, or float32 where every digit counts. Sums are float32 in both.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lynxkv::kernels {

enum class Element : std::uint8_t { bf16 = 0, f32 = 1 };

constexpr std::size_t bytes_of(Element element) {
  return element == Element::bf16 ? 2 : 4;
}

}  // namespace lynxkv::kernels
