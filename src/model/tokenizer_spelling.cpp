#include "model/tokenizer_spelling.hpp"

#include <array>

#include "model/unicode.hpp"

namespace lynxkv::model {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Spelling {
  std::array<char32_t, 256> character_of;
  std::array<int, 0x144> byte_of;  // -1: none
};

constexpr Spelling make_spelling() {
  Spelling spelling{};
  spelling.byte_of.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
    spelling.character_of[static_cast<std::size_t>(byte)] = character;
    spelling.byte_of[character] = byte;
  }
  return spelling;
}
constexpr Spelling spelling = make_spelling();

}  // namespace

std::optional<std::string> unspell(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const Character c = character_at(token, at);
    if (c.code >= spelling.byte_of.size() || spelling.byte_of[c.code] < 0) return std::nullopt;
    bytes += static_cast<char>(spelling.byte_of[c.code]);
    at += c.bytes;
  }
  return bytes;
}

std::string spell(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, spelling.character_of[static_cast<unsigned char>(c)]);
  return out;
}

}  // namespace lynxkv::model
