// Little-endian fields in byte strings, every access checked. Readers never trust a length that they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace lynxkv {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "wire and file formats are little-endian");

// Reads fields in order. After the first field that does not fit, ok() is false and every read gives zero.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <class T>
  T read() noexcept {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    if (const auto field = take(sizeof(T)); field.size() == sizeof(T))
      std::memcpy(&value, field.data(), sizeof(T));
    return value;
  }
  // The next `count` bytes; empty, and ok() false, where fewer are left.
  std::span<const std::byte> take(std::uint64_t count) noexcept {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto field = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return field;
  }
  bool ok() const noexcept { return ok_; }
  std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

// Appends fields to a byte vector that the caller owns.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) noexcept : out_(out) {}

  template <class T>
  void write(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    write_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void write_bytes(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

 private:
  std::vector<std::byte>& out_;
};

}  // namespace lynxkv
