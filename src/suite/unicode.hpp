// Text as the reference scorers (Python) see it: code points, lower case, white space, digits, words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::suite {

// Code points of UTF-8; every byte that is not part of a character becomes U+FFFD.
std::u32string code_points(std::string_view utf8);
std::string to_utf8(std::u32string_view text);

// Python's str.lower(): full mapping, no locale.
std::string lower(std::string_view utf8);

bool is_space(char32_t c) noexcept;  // what str.split() splits at
bool is_digit(char32_t c) noexcept;  // \d: decimal digits of every script
bool is_word(char32_t c) noexcept;   // \w

// str.split(): pieces between runs of white space.
std::vector<std::u32string> split_at_space(std::u32string_view text);

}  // namespace lynxkv::suite
