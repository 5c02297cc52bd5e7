#include "model/gguf_cursor.hpp"

#include <algorithm>
#include <array>

namespace lynxkv::model {
namespace {

constexpr std::array<std::string_view, 13> kind_names = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
constexpr std::array<std::uint32_t, 13> kind_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// A chat template is the longest single string that files have; a token or a merge is far below.
constexpr std::uint64_t longest_string_bytes = 64u << 20;

}  // namespace

std::string_view name_of(GgufKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < kind_names.size() ? kind_names[index] : "?";
}

std::uint32_t bytes_of(GgufKind kind) noexcept {
  return kind_bytes[static_cast<std::size_t>(kind)];
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) out += (c >= 0x20 && c < 0x7f) ? c : '?';
  if (text.size() > 60) out += "...";
  return out + "'";
}

void GgufCursor::require(std::string_view what) const {
  if (reader_.ok()) return;
  throw error("the file ends inside " + std::string(what) + " (it has " + std::to_string(file_bytes_) +
              " bytes): it is truncated or damaged");
}

std::string_view GgufCursor::read_string(std::string_view what, std::uint64_t most_bytes) {
  const auto length = read<std::uint64_t>(what);
  if (length > most_bytes)
    throw error("expected at most " + std::to_string(most_bytes) + " bytes of " + std::string(what) +
                ", found " + std::to_string(length));
  const auto bytes = take(length, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void GgufCursor::require_count(std::uint64_t count, std::uint64_t least_bytes, std::string_view what) const {
  if (count <= left() / least_bytes) return;
  throw error("expected at most " + std::to_string(left() / least_bytes) + " " + std::string(what) +
              " in the rest of the file, found a count of " + std::to_string(count));
}

GgufKind GgufCursor::read_kind(std::string_view what) {
  const auto raw = read<std::uint32_t>(what);
  if (raw >= kind_names.size())
    throw error("expected a type from 0 to 12 for " + std::string(what) + ", found " + std::to_string(raw));
  return static_cast<GgufKind>(raw);
}

std::span<const std::byte> GgufCursor::take_strings(std::uint64_t count, std::string_view what) {
  require_count(count, sizeof(std::uint64_t), "strings");
  GgufCursor ahead = *this;  // finds where the strings end
  for (std::uint64_t i = 0; i < count; ++i) ahead.read_string(what, longest_string_bytes);
  return take(left() - ahead.left(), what);
}

GgufValue GgufCursor::read_value(std::string_view key) {
  const std::string what = "the metadata " + quoted(key);
  GgufValue value;
  value.kind = read_kind(what);
  if (value.kind == GgufKind::string) {
    value.payload = std::as_bytes(std::span(read_string(what, longest_string_bytes)));
  } else if (value.kind == GgufKind::array) {
    value.element = read_kind(what);
    value.count = read<std::uint64_t>(what);
    if (value.element == GgufKind::array)
      throw error(what + " is an array of arrays, which is not supported");
    if (value.element == GgufKind::string) {
      value.payload = take_strings(value.count, what);
    } else {
      const std::uint32_t size = bytes_of(value.element);
      require_count(value.count, size, "array elements of " + quoted(key));
      value.payload = take(value.count * size, what);
    }
  } else {
    value.payload = take(bytes_of(value.kind), what);
  }
  return value;
}

}  // namespace lynxkv::model
