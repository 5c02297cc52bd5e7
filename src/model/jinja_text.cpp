#include "model/jinja_text.hpp"

#include <unicode/uchar.h>

#include <algorithm>
#include <utility>

#include "model/jinja_lexer.hpp"
#include "model/unicode.hpp"

namespace lynxkv::model::jinja {
namespace {

template <class Change>
std::string each_character(std::string_view text, const Change& change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    append_utf8(out, static_cast<char32_t>(change(static_cast<UChar32>(c.code))));
    at += c.bytes;
  }
  return out;
}

bool contains_character(std::string_view characters, char32_t code) {
  for (std::size_t at = 0; at < characters.size();) {
    const Character c = character_at(characters, at);
    if (c.code == code) return true;
    at += c.bytes;
  }
  return false;
}

std::size_t last_start(std::string_view text) {
  std::size_t start = text.size() - 1;
  while (start > 0 && text.size() - start < 4 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80)
    --start;
  return start;
}

std::vector<std::string> split_on_space(std::string_view text, long most, bool from_right) {
  std::vector<std::string> parts;
  const auto is_space = [](std::string_view rest) { return strip_left(rest).size() != rest.size(); };
  if (from_right) {
    for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
      if (most >= 0 && static_cast<long>(parts.size()) == most) {
        parts.emplace_back(text);
        break;
      }
      std::size_t start = text.size();
      while (start > 0) {
        const std::size_t before = last_start(text.substr(0, start));
        if (is_space(text.substr(before, start - before))) break;
        start = before;
      }
      parts.emplace_back(text.substr(start));
      text = text.substr(0, start);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (most >= 0 && static_cast<long>(parts.size()) == most) {
      parts.emplace_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const Character c = character_at(text, end);
      if (is_space(text.substr(end, c.bytes))) break;
      end += c.bytes;
    }
    parts.emplace_back(text.substr(0, end));
    text = text.substr(end);
  }
  return parts;
}

}  // namespace

std::string upper(std::string_view text) {
  return each_character(text, [](UChar32 c) { return u_toupper(c); });
}
std::string lower(std::string_view text) {
  return each_character(text, [](UChar32 c) { return u_tolower(c); });
}

std::string capitalized(std::string_view text) {
  bool first = true;
  return each_character(text,
                        [&](UChar32 c) { return std::exchange(first, false) ? u_totitle(c) : u_tolower(c); });
}

std::string titled(std::string_view text) {
  bool inside = false;  // a word
  return each_character(text, [&](UChar32 c) {
    const bool letter = u_isUAlphabetic(c) != 0;
    const UChar32 changed = !letter ? c : inside ? u_tolower(c) : u_totitle(c);
    inside = letter;
    return changed;
  });
}

std::string words_titled(std::string_view text) {
  bool starts = true;
  return each_character(text, [&](UChar32 c) {
    const bool separates = c == '-' || c == '(' || c == '{' || c == '[' || c == '<' ||
                           class_of(static_cast<char32_t>(c)) == CharacterClass::space;
    const UChar32 changed = separates ? c : starts ? u_toupper(c) : u_tolower(c);
    starts = separates;
    return changed;
  });
}

std::string_view strip(std::string_view text, std::string_view characters, bool left, bool right) {
  if (characters.empty()) {
    if (left) text = strip_left(text);
    return right ? strip_right(text) : text;
  }
  while (left && !text.empty()) {
    const Character c = character_at(text, 0);
    if (!contains_character(characters, c.code)) break;
    text.remove_prefix(c.bytes);
  }
  while (right && !text.empty()) {
    const std::size_t start = last_start(text);
    if (!contains_character(characters, character_at(text, start).code)) break;
    text = text.substr(0, start);
  }
  return text;
}

std::vector<std::string> split_text(std::string_view text, std::string_view separator, long most,
                                    bool from_right) {
  if (separator.empty()) return split_on_space(text, most, from_right);
  std::vector<std::string> parts;
  while (most < 0 || static_cast<long>(parts.size()) < most) {
    const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(from_right ? text.substr(at + separator.size()) : text.substr(0, at));
    text = from_right ? text.substr(0, at) : text.substr(at + separator.size());
  }
  parts.emplace_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

bool replace_text(std::string_view text, std::string_view from, std::string_view to, long most,
                  std::size_t limit, std::string& out) {
  for (long count = 0; most < 0 || count < most; ++count) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) break;
    out.append(text.substr(0, at)).append(to);
    if (out.size() > limit) return false;
    text.remove_prefix(at + from.size());
  }
  out.append(text);
  return out.size() <= limit;
}

}  // namespace lynxkv::model::jinja
