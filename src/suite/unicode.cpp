#include "suite/unicode.hpp"

#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include <algorithm>

#include "base/error.hpp"

namespace lynxkv::suite {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Bytes of the character that begins at `at`, and its code point; 0 where it is not well formed.
std::size_t character_at(std::string_view text, std::size_t at, char32_t& point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) {
    point = first;
    return 1;
  }
  const std::size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + count > text.size()) return 0;
  point = first & (0x7fu >> count);
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(at + i) & 0xc0u) != 0x80u) return 0;
    point = (point << 6) | (byte(at + i) & 0x3fu);
  }
  const bool overlong = (count == 3 && point < 0x800) || (count == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  return overlong || surrogate || point > 0x10ffff ? 0 : count;
}

}  // namespace

std::u32string code_points(std::string_view utf8) {
  std::u32string out;
  out.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    char32_t point = 0xfffd;
    const std::size_t count = character_at(utf8, at, point);
    out.push_back(count == 0 ? 0xfffd : point);
    at += std::max<std::size_t>(count, 1);
  }
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t point : text) {
    if (point < 0x80) {
      out += static_cast<char>(point);
      continue;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    out += static_cast<char>((0xf00u >> (more + 1) & 0xffu) | (point >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80u | (point >> (6 * i) & 0x3fu));
  }
  return out;
}

std::string lower(std::string_view utf8) {
  if (is_ascii(utf8)) {
    std::string out(utf8);
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
  }
  const std::u32string points = code_points(utf8);
  const auto* utf32 = reinterpret_cast<const UChar32*>(points.data());
  std::u16string text(points.size() * 2 + 1, u'\0');
  std::u16string lowered(points.size() * 6 + 1, u'\0');  // no mapping is longer than three units a character
  UErrorCode error = U_ZERO_ERROR;
  int32_t count = 0;
  u_strFromUTF32(text.data(), static_cast<int32_t>(text.size()), &count, utf32,
                 static_cast<int32_t>(points.size()), &error);
  count = u_strToLower(lowered.data(), static_cast<int32_t>(lowered.size()), text.data(), count, "", &error);
  std::u32string out(static_cast<std::size_t>(count), U'\0');
  int32_t out_count = 0;
  u_strToUTF32(reinterpret_cast<UChar32*>(out.data()), count, &out_count, lowered.data(), count, &error);
  if (U_FAILURE(error))
    throw Error(ErrorCode::bad_data, "text",
                std::string("cannot be put in lower case: ") + u_errorName(error));
  out.resize(static_cast<std::size_t>(out_count));
  return to_utf8(out);
}

bool is_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_digit(char32_t c) noexcept {
  return u_charType(static_cast<UChar32>(c)) == U_DECIMAL_DIGIT_NUMBER;
}

bool is_word(char32_t c) noexcept {
  const int kind = u_charType(static_cast<UChar32>(c));
  return c == U'_' || u_isalpha(static_cast<UChar32>(c)) || kind == U_DECIMAL_DIGIT_NUMBER ||
         kind == U_LETTER_NUMBER || kind == U_OTHER_NUMBER;
}

std::vector<std::u32string> split_at_space(std::u32string_view text) {
  std::vector<std::u32string> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace lynxkv::suite
