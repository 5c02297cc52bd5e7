// Reads GGUF fields in order and says where the bytes ended. Internal to the GGUF reader.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "model/gguf.hpp"

namespace lynxkv::model {

// Bytes of a scalar of this kind; 0 for strings and arrays.
std::uint32_t bytes_of(GgufKind kind) noexcept;

// Text from a file, made fit for a message: at most 60 bytes, printable ASCII, quoted.
std::string quoted(std::string_view text);

class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> file, const std::string& name)
      : file_bytes_(file.size()), reader_(file), name_(name) {}

  // `what` names the field for the message.
  template <class T>
  T read(std::string_view what) {
    const T value = reader_.read<T>();
    require(what);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    const auto bytes = reader_.take(count);
    require(what);
    return bytes;
  }
  std::string_view read_string(std::string_view what, std::uint64_t most_bytes);
  // Refuses a count of things of at least `least_bytes` each that the rest of the file cannot hold.
  void require_count(std::uint64_t count, std::uint64_t least_bytes, std::string_view what) const;
  GgufKind read_kind(std::string_view what);
  GgufValue read_value(std::string_view key);

  std::uint64_t position() const noexcept { return file_bytes_ - reader_.left(); }
  std::uint64_t left() const noexcept { return reader_.left(); }
  Error error(const std::string& what) const { return Error(ErrorCode::bad_data, name_, what); }

 private:
  void require(std::string_view what) const;
  std::span<const std::byte> take_strings(std::uint64_t count, std::string_view what);

  std::uint64_t file_bytes_;
  ByteReader reader_;
  const std::string& name_;
};

}  // namespace lynxkv::model
