// A GGUF file's header, metadata and tensor table (versions 2 and 3, little-endian), read from bytes in
// memory. Layout: "GGUF", u32 version, u64 tensors, u64 metadata entries; the entries (string key, u32 type,
// value); the tensor table (string name, u32 dimensions, u64 each, u32 type, u64 offset); padding to the
// alignment; the data that the offsets count from. Strings are a u64 length and bytes. Every count, length,
// dimension and offset is checked before use: what parse() returns lies inside the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "model/dequant.hpp"

namespace lynxkv::model {

enum class GgufKind : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};
std::string_view name_of(GgufKind kind) noexcept;

// One metadata value; a view into the file. Arrays: `count` elements of `element`, back to back in `payload`.
struct GgufValue {
  GgufKind kind = GgufKind::u8;
  GgufKind element = GgufKind::u8;  // of an array
  std::uint64_t count = 1;          // of an array
  std::span<const std::byte> payload;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

struct GgufTensor {
  std::string_view name;
  std::vector<std::uint64_t>
      dimensions;  // fastest first, as the file has them: a row is dimensions[0] values
  TensorTypeInfo type;
  std::span<const std::byte> bytes;

  std::uint64_t columns() const noexcept { return dimensions[0]; }
  std::uint64_t rows() const noexcept;
};

class Gguf {
 public:
  // `file` stays alive as long as this and everything it returns; `name` is for messages.
  // Throws Error{bad_data}.
  Gguf(std::span<const std::byte> file, std::string name);

  const std::string& name() const noexcept { return name_; }
  std::uint32_t version() const noexcept { return version_; }
  std::uint64_t data_start() const noexcept { return data_start_; }
  std::span<const GgufEntry> entries() const noexcept { return entries_; }
  std::span<const GgufTensor> tensors() const noexcept { return tensors_; }

  const GgufTensor* tensor(std::string_view name) const noexcept;  // null: none
  const GgufValue* find(std::string_view key) const noexcept;      // null: none

  // A metadata value by key; nothing where the key is absent; Error{bad_data} where it has another type.
  // Integers of every width are taken where they fit.
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  // Arrays of strings, and of 32-bit integers.
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<std::int32_t>> integers(std::string_view key) const;

  // An Error{bad_data} about this file.
  Error error(std::string_view what) const { return Error(ErrorCode::bad_data, name_, what); }

 private:
  void check_overlaps() const;

  std::string name_;
  std::uint32_t version_ = 0;
  std::uint64_t data_start_ = 0;
  std::vector<GgufEntry> entries_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> entry_by_key_, tensor_by_name_;
};

}  // namespace lynxkv::model
