#include "model/unicode.hpp"

#include <unicode/uchar.h>

#include <array>

namespace lynxkv::model {
namespace {

// How far a character that begins with text[at] is well-formed: `bytes` of the `needed` ones.
struct Shape {
  std::uint32_t needed, bytes;
};

Shape shape_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {1, 1};
  if (lead < 0xc2 || lead > 0xf4) return {0, 1};
  const std::uint32_t needed = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte's range leaves out overlong forms, surrogates and what is past U+10FFFF.
  unsigned char least = 0x80, most = 0xbf;
  if (lead == 0xe0) least = 0xa0;
  if (lead == 0xed) most = 0x9f;
  if (lead == 0xf0) least = 0x90;
  if (lead == 0xf4) most = 0x8f;
  std::uint32_t bytes = 1;
  while (bytes < needed && at + bytes < text.size() && byte(at + bytes) >= least &&
         byte(at + bytes) <= most) {
    ++bytes;
    least = 0x80;
    most = 0xbf;
  }
  return {needed, bytes};
}

CharacterClass look_up(char32_t code) noexcept {
  const auto c = static_cast<UChar32>(code);
  if (u_hasBinaryProperty(c, UCHAR_WHITE_SPACE)) return CharacterClass::space;
  const std::uint32_t mask = U_GET_GC_MASK(c);
  if ((mask & U_GC_L_MASK) != 0) return CharacterClass::letter;
  if ((mask & U_GC_N_MASK) != 0) return CharacterClass::number;
  return CharacterClass::other;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) noexcept {
  const Shape shape = shape_at(text, at);
  if (shape.bytes != shape.needed) return {0xfffd, 1};
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  switch (shape.needed) {
    case 1:
      return {byte(0), 1};
    case 2:
      return {(byte(0) & 0x1f) << 6 | (byte(1) & 0x3f), 2};
    case 3:
      return {(byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
    default:
      return {(byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
  }
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const Shape shape = shape_at(text, at);
    if (shape.bytes != shape.needed) return false;
    at += shape.bytes;
  }
  return true;
}

std::string with_replacements(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Shape shape = shape_at(bytes, at);
    if (shape.bytes == shape.needed)
      out.append(bytes.substr(at, shape.bytes));
    else
      out.append("\xef\xbf\xbd");
    at += shape.bytes;
  }
  return out;
}

CharacterClass class_of(char32_t code) noexcept {
  static const std::array<CharacterClass, 128> ascii = [] {
    std::array<CharacterClass, 128> table;
    for (char32_t c = 0; c < 128; ++c) table[c] = look_up(c);
    return table;
  }();
  return code < 128 ? ascii[code] : look_up(code);
}

}  // namespace lynxkv::model
