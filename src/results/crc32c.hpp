// CRC-32C (Castagnoli), the checksum of a journal record: reflected polynomial 0x82f63b78, initial value and
// final exclusive-or all ones. "123456789" gives 0xe3069283.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lynxkv::results {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace lynxkv::results
