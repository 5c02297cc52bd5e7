#include "results/crc32c.hpp"

#include <array>
#include <cstring>

namespace lynxkv::results {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// table[0] advances the register by one byte; table[k] by that byte followed by k zero bytes, so that eight
// bytes can be looked up independently of each other.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1u) != 0 ? 0x82f63b78u : 0u);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xffu];
  return tables;
}
constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  std::uint32_t crc = 0xffffffffu;
  while (bytes.size() >= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data(), 8);
    eight ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(eight >> (8 * k)) & 0xffu];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes)
    crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffu];
  return ~crc;
}

}  // namespace lynxkv::results
