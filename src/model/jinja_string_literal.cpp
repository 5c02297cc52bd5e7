#include "model/jinja_string_literal.hpp"

#include "model/unicode.hpp"

namespace lynxkv::model::jinja {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Digits of `base` from source[at] on, at least `least` and at most `most`; -1 where there are fewer.
long read_digits(std::string_view source, std::size_t& at, int base, int least, int most) {
  long value = 0;
  std::size_t end = at;
  int count = 0;
  for (; count < most && end < source.size() && digit_of(source[end]) < base; ++count, ++end)
    value = value * base + digit_of(source[end]);
  if (count < least) return -1;
  at = end;
  return value;
}

char simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'a':
      return '\a';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

// `at` is behind the backslash.
void read_escape(std::string_view source, std::size_t& at, std::string& value) {
  const char c = source[at];
  if (const char simple = simple_escape(c)) {
    value += simple;
    ++at;
    return;
  }
  if (c == '\n') {  // a line that goes on
    ++at;
    return;
  }
  std::size_t end = at + 1;
  long code = -1;
  if (c == 'x') code = read_digits(source, end, 16, 2, 2);
  if (c == 'u') code = read_digits(source, end, 16, 4, 4);
  if (c == 'U') code = read_digits(source, end, 16, 8, 8);
  if (c >= '0' && c <= '7') code = read_digits(source, end = at, 8, 1, 3);
  const bool is_character = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  if (!is_character) {
    value += '\\';
    return;
  }
  append_utf8(value, static_cast<char32_t>(code));
  at = end;
}

}  // namespace

bool read_string_literal(std::string_view source, std::size_t& at, std::string& value) {
  const char quote = source[at++];
  while (at < source.size()) {
    const char c = source[at++];
    if (c == quote) return true;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (at == source.size()) return false;
    read_escape(source, at, value);
  }
  return false;
}

}  // namespace lynxkv::model::jinja
