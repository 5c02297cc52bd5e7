// Hashes: XXH3-64 for wire checksums and identities of files and settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lynxkv {

std::uint64_t hash64(std::span<const std::byte> bytes) noexcept;
std::uint64_t hash64(std::string_view text) noexcept;

// The hash of several pieces, equal to hash64 of their concatenation.
class Hash64 {
 public:
  Hash64();
  ~Hash64();
  Hash64(const Hash64&) = delete;
  Hash64& operator=(const Hash64&) = delete;
  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept;
  std::uint64_t digest() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// XXH3-64 of a whole file. Throws Error{bad_data} where it cannot be read.
std::uint64_t hash_file(const std::string& path);

// Sixteen lower-case hexadecimal digits.
std::string hex64(std::uint64_t value);

}  // namespace lynxkv
