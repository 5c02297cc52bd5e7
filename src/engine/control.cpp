#include "engine/control.hpp"

#include <type_traits>

#include "base/bytes.hpp"

namespace lynxkv::engine {
namespace {

constexpr std::uint8_t version = 2;

struct Writer {
  ByteWriter out;
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      out.write(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
      out.write(static_cast<std::uint32_t>(value.size()));
      out.write_bytes(value);
    } else {
      for (const auto& item : value) out.write(item);
    }
  }
};

struct Reader {
  ByteReader& in;
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      value = in.read<T>();
    } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
      const auto bytes = in.take(in.read<std::uint32_t>());
      value.assign(bytes.begin(), bytes.end());
    } else {
      for (auto& item : value) item = in.read<typename T::value_type>();
    }
  }
};

template <std::size_t Index = 0>
Result<Control> read_kind(std::size_t kind, ByteReader& in) {
  if constexpr (Index < std::variant_size_v<Control>) {
    if (kind != Index) return read_kind<Index + 1>(kind, in);
    std::variant_alternative_t<Index, Control> message;
    message.fields(Reader{in});
    if (!in.ok() || in.left() != 0)
      return Error(ErrorCode::transport, "control message " + std::to_string(kind), "is not as long as its kind");
    return Control(std::move(message));
  } else {
    return Error(ErrorCode::transport, "control message", "has an unknown kind " + std::to_string(kind));
  }
}

}  // namespace

std::vector<std::byte> encode(const Control& message) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.write(version);
  out.write(static_cast<std::uint8_t>(message.index()));
  std::visit([&](auto copy) { copy.fields(Writer{out}); }, message);
  return bytes;
}

Result<Control> decode_control(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto found = in.read<std::uint8_t>();
  const auto kind = in.read<std::uint8_t>();
  if (!in.ok() || found != version)
    return Error(ErrorCode::transport, "control message",
                 "has version " + std::to_string(found) + ", expected " + std::to_string(version));
  return read_kind(kind, in);
}

}  // namespace lynxkv::engine
