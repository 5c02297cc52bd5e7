// Typed access to a GGUF file's metadata.
#include <limits>

#include "base/bytes.hpp"
#include "model/gguf.hpp"
#include "model/gguf_cursor.hpp"

namespace lynxkv::model {
namespace {

Error wrong_type(const Gguf& file, std::string_view key, std::string_view expected, const GgufValue& found) {
  std::string kind(name_of(found.kind));
  if (found.kind == GgufKind::array) kind += " of " + std::string(name_of(found.element));
  return file.error("expected " + std::string(expected) + " as " + quoted(key) + ", found " + kind);
}

// An integer of any width; nothing where `kind` is none or the value is past int64.
std::optional<std::int64_t> read_integer(GgufKind kind, ByteReader& reader) {
  switch (kind) {
    case GgufKind::u8:
      return reader.read<std::uint8_t>();
    case GgufKind::i8:
      return reader.read<std::int8_t>();
    case GgufKind::u16:
      return reader.read<std::uint16_t>();
    case GgufKind::i16:
      return reader.read<std::int16_t>();
    case GgufKind::u32:
      return reader.read<std::uint32_t>();
    case GgufKind::i32:
      return reader.read<std::int32_t>();
    case GgufKind::i64:
      return reader.read<std::int64_t>();
    case GgufKind::u64: {
      const auto value = reader.read<std::uint64_t>();
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string_view> Gguf::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != GgufKind::string) throw wrong_type(*this, key, "a string", *value);
  return std::string_view(reinterpret_cast<const char*>(value->payload.data()), value->payload.size());
}

std::optional<std::int64_t> Gguf::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  ByteReader reader(value->payload);
  const auto number = read_integer(value->kind, reader);
  if (!number) throw wrong_type(*this, key, "an integer below 2^63", *value);
  return number;
}

std::optional<double> Gguf::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  ByteReader reader(value->payload);
  if (value->kind == GgufKind::f32) return reader.read<float>();
  if (value->kind == GgufKind::f64) return reader.read<double>();
  const auto number = read_integer(value->kind, reader);
  if (!number) throw wrong_type(*this, key, "a number", *value);
  return static_cast<double>(*number);
}

std::optional<bool> Gguf::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != GgufKind::boolean) throw wrong_type(*this, key, "true or false", *value);
  return value->payload[0] != std::byte{0};
}

std::optional<std::vector<std::string_view>> Gguf::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != GgufKind::array || value->element != GgufKind::string)
    throw wrong_type(*this, key, "an array of strings", *value);
  std::vector<std::string_view> out;
  out.reserve(value->count);  // the reader has seen that many strings
  GgufCursor cursor(value->payload, name_);
  for (std::uint64_t i = 0; i < value->count; ++i)
    out.push_back(cursor.read_string(key, value->payload.size()));
  return out;
}

std::optional<std::vector<std::int32_t>> Gguf::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != GgufKind::array) throw wrong_type(*this, key, "an array of integers", *value);
  std::vector<std::int32_t> out;
  out.reserve(value->count);
  ByteReader reader(value->payload);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const auto number = read_integer(value->element, reader);
    if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
        *number > std::numeric_limits<std::int32_t>::max())
      throw wrong_type(*this, key, "an array of 32-bit integers", *value);
    out.push_back(static_cast<std::int32_t>(*number));
  }
  return out;
}

}  // namespace lynxkv::model
