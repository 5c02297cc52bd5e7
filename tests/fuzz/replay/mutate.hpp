// Deterministic mutations of an input: the same seed gives the same bytes on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace lynxkv::fuzz {

// `other` lends pieces for splicing; may be empty. The result is at most 64 KiB, or as long as `input`.
std::vector<std::uint8_t> mutate(const std::vector<std::uint8_t>& input,
                                 const std::vector<std::uint8_t>& other, std::uint64_t seed);

}  // namespace lynxkv::fuzz
