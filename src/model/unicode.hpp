// UTF-8 and the character classes that pre-tokenizers ask for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lynxkv::model {

struct Character {
  char32_t code;        // U+FFFD for a byte that begins no valid character
  std::uint32_t bytes;  // 1 to 4; 1 for such a byte
};

// The character at text[at]; at < text.size().
Character character_at(std::string_view text, std::size_t at) noexcept;

void append_utf8(std::string& out, char32_t code);

// Whether all of it is well-formed UTF-8.
bool is_utf8(std::string_view text) noexcept;

// Each maximal part that is no valid character becomes one U+FFFD.
std::string with_replacements(std::string_view bytes);

enum class CharacterClass : std::uint8_t { letter, number, space, other };

// \p{L}, \p{N}, \s (White_Space) and the rest, by the Unicode version of the ICU library.
CharacterClass class_of(char32_t code) noexcept;

}  // namespace lynxkv::model
