// Cuts a template into text and the tokens inside {{ }} and {% %}, with white-space control as published chat
// templates expect it: a block's line break and the indentation before it vanish (trim_blocks,
// lstrip_blocks).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::model::jinja {

enum class TokenType {
  text,
  begin_output,
  end_output,
  begin_block,
  end_block,
  name,
  string,
  integer,
  real,
  symbol,
  end
};

struct Token {
  TokenType type = TokenType::end;
  std::string text;  // text, a string's value, a name, a number's digits, a symbol
  int line = 1;
};

// Throws Error{bad_data} naming the line.
std::vector<Token> lex(std::string_view source);

// An Error{bad_data} about a place in the template.
[[noreturn]] void fail(int line, const std::string& what);

// White space as Python's str.strip() has it.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

}  // namespace lynxkv::model::jinja
