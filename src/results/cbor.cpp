#include "results/cbor.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace lynxkv::results {
namespace {

constexpr std::size_t max_depth = 8;

// Walks over the items without building them. `open` holds how many items each open list or map still lacks.
bool is_one_plain_item(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  std::vector<std::uint64_t> open = {1};
  while (!open.empty()) {
    if (open.back() == 0) {
      open.pop_back();
      continue;
    }
    --open.back();
    if (at >= bytes.size()) return false;
    const auto first = std::to_integer<unsigned>(bytes[at++]);
    const unsigned major = first >> 5;
    const unsigned low = first & 31u;
    if (low > 27) return false;  // reserved, or of indefinite length
    std::uint64_t argument = low;
    if (low >= 24) {
      const std::size_t count = std::size_t{1} << (low - 24);
      if (bytes.size() - at < count) return false;
      argument = 0;
      for (std::size_t i = 0; i < count; ++i)
        argument = (argument << 8) | std::to_integer<std::uint64_t>(bytes[at++]);
    }
    const std::uint64_t left = bytes.size() - at;
    switch (major) {
      case 0:
      case 1:
        break;  // integers
      case 2:
      case 3:  // byte and text strings
        if (argument > left) return false;
        at += static_cast<std::size_t>(argument);
        break;
      case 4:
      case 5:  // lists and maps: each item is a byte at least
        if (argument > left / (major == 5 ? 2 : 1) || open.size() > max_depth) return false;
        open.push_back(argument * (major == 5 ? 2 : 1));
        break;
      case 6:
        return false;  // tags
      default:
        break;  // false, true, null and floats; their bytes were taken as the argument
    }
  }
  return at == bytes.size();
}

}  // namespace

std::vector<std::byte> to_cbor(const nlohmann::json& value) {
  std::vector<std::byte> bytes;
  const std::vector<std::uint8_t> raw = nlohmann::json::to_cbor(value);
  bytes.resize(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) bytes[i] = std::byte{raw[i]};
  return bytes;
}

Result<nlohmann::json> from_cbor(std::span<const std::byte> bytes) {
  const auto refuse = [] {
    return Error(ErrorCode::bad_data, "record", "its bytes are not one CBOR item of the expected shape");
  };
  if (!is_one_plain_item(bytes)) return refuse();
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  try {
    nlohmann::json value = nlohmann::json::from_cbor(begin, begin + bytes.size(), true, false);
    if (value.is_discarded()) return refuse();
    return value;
  } catch (const nlohmann::json::exception&) {
    return refuse();
  }
}

}  // namespace lynxkv::results
