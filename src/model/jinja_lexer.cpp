#include "model/jinja_lexer.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "model/jinja_string_literal.hpp"
#include "model/unicode.hpp"

namespace lynxkv::model::jinja {

void fail(int line, const std::string& what) {
  throw Error(ErrorCode::bad_data, "chat template", "line " + std::to_string(line) + ": " + what);
}

namespace {

bool is_python_space(char32_t code) {
  return class_of(code) == CharacterClass::space || (code >= 0x1c && code <= 0x1f);
}

constexpr std::array<std::string_view, 27> symbols = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                                      "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                      ">",  "<",  "=",  ".",  ":",  "|",  ",", ";", "!"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) text_then_tag();
    tokens_.push_back({TokenType::end, "", line_});
    return std::move(tokens_);
  }

 private:
  // Line breaks become "\n", and one at the very end vanishes.
  static std::string normalized(std::string_view source) {
    std::string out;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] != '\r') {
        out += source[i];
        continue;
      }
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
  }

  bool looking_at(std::string_view text) const {
    return std::string_view(source_).substr(at_).starts_with(text);
  }
  char peek(std::size_t ahead) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void advance_to(std::size_t end) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    if (end > at_) line_starts_ = source_[end - 1] == '\n';
    at_ = end;
  }

  // The next "{{", "{%" or "{#", or the end.
  std::size_t next_tag(std::size_t from) const {
    for (std::size_t i = source_.find('{', from); i != std::string::npos; i = source_.find('{', i + 1)) {
      const char kind = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (kind == '{' || kind == '%' || kind == '#') return i;
    }
    return source_.size();
  }

  void text_then_tag() {
    const std::size_t tag = next_tag(at_);
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    if (tag < source_.size())
      text = before_tag(text, source_[tag + 1], tag + 2 < source_.size() ? source_[tag + 2] : '\0');
    if (!text.empty()) tokens_.push_back({TokenType::text, std::string(text), line_});
    advance_to(tag);
    if (tag == source_.size()) return;
    const char kind = peek(1);
    const bool has_sign = peek(2) == '-' || peek(2) == '+';
    const int opened = line_;
    advance_to(at_ + (has_sign ? 3 : 2));
    if (kind == '#') return comment(opened);
    if (kind == '%' && raw(opened)) return;
    tokens_.push_back({kind == '%' ? TokenType::begin_block : TokenType::begin_output, "", opened});
    inside(kind == '%', opened);
  }

  std::string_view before_tag(std::string_view text, char kind, char sign) const {
    if (sign == '-') return strip_right(text);
    if (sign == '+' || kind == '{') return text;
    const std::size_t line_start = text.rfind('\n') + 1;  // npos + 1 is 0
    if (line_start == 0 && !line_starts_) return text;
    return strip_left(text.substr(line_start)).empty() ? text.substr(0, line_start) : text;
  }

  // After a tag's end: "-" takes all white space; a block or comment takes one line break, unless "+".
  void after_tag(char sign, bool takes_break) {
    if (sign == '-') {
      const auto rest = std::string_view(source_).substr(at_);
      advance_to(source_.size() - strip_left(rest).size());
    } else if (takes_break && sign != '+' && peek(0) == '\n') {
      advance_to(at_ + 1);
    }
  }

  void comment(int opened) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail(opened, "a comment that begins here does not end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    advance_to(end + 2);
    after_tag(sign, true);
  }

  // "{% raw %}" up to "{% endraw %}" is text.
  bool raw(int opened) {
    std::size_t at = 0;
    if (!raw_tag("raw", at_, at)) return false;
    const char first_sign = source_[at - 3];
    advance_to(at);
    after_tag(first_sign, true);
    for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 2)) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      std::size_t end = 0;
      if (!raw_tag("endraw", tag + (sign == '-' || sign == '+' ? 3 : 2), end)) continue;
      const auto text = before_tag(std::string_view(source_).substr(at_, tag - at_), '%', sign);
      if (!text.empty()) tokens_.push_back({TokenType::text, std::string(text), line_});
      const char last_sign = source_[end - 3];
      advance_to(end);
      after_tag(last_sign, true);
      return true;
    }
    fail(opened, "expected '{% endraw %}', found none");
  }
  // Whether "<word> %}" stands at `from`; `end` is then behind it.
  bool raw_tag(std::string_view word, std::size_t from, std::size_t& end) const {
    std::string_view rest = strip_left(std::string_view(source_).substr(std::min(from, source_.size())));
    if (!rest.starts_with(word)) return false;
    rest = strip_left(rest.substr(word.size()));
    if (rest.starts_with("-%}") || rest.starts_with("+%}")) rest.remove_prefix(1);
    if (!rest.starts_with("%}")) return false;
    end = source_.size() - rest.size() + 2;
    return true;
  }

  void inside(bool block, int opened) {
    const std::string_view close = block ? "%}" : "}}";
    std::string brackets;  // open ones: inside them "}}" is no end
    while (true) {
      advance_to(source_.size() - strip_left(std::string_view(source_).substr(at_)).size());
      if (at_ == source_.size())
        fail(opened,
             std::string("expected '") + std::string(close) + "' to end what begins here, found none");
      if (brackets.empty()) {
        const bool sign = (peek(0) == '-' || (block && peek(0) == '+')) &&
                          std::string_view(source_).substr(at_ + 1).starts_with(close);
        if (sign || looking_at(close)) {
          const char which = sign ? peek(0) : '\0';
          tokens_.push_back({block ? TokenType::end_block : TokenType::end_output, "", line_});
          advance_to(at_ + (sign ? 3 : 2));
          after_tag(which, block);
          return;
        }
      }
      token(brackets);
    }
  }

  void token(std::string& brackets) {
    const char c = peek(0);
    if (starts_name(c)) {
      std::size_t end = at_;
      while (end < source_.size() && (starts_name(source_[end]) || is_digit(source_[end]))) ++end;
      return push(TokenType::name, source_.substr(at_, end - at_), end);
    }
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') {
      std::size_t end = at_;
      std::string value;
      if (!read_string_literal(source_, end, value)) fail(line_, "a string that begins here does not end");
      return push(TokenType::string, std::move(value), end);
    }
    for (const std::string_view symbol : symbols) {
      if (!looking_at(symbol)) continue;
      if (symbol == "(" || symbol == "[" || symbol == "{")
        brackets += symbol == "(" ? ')' : symbol == "[" ? ']' : '}';
      if (symbol == ")" || symbol == "]" || symbol == "}") {
        if (brackets.empty() || brackets.back() != symbol[0])
          fail(line_, "unexpected '" + std::string(symbol) + "'");
        brackets.pop_back();
      }
      return push(TokenType::symbol, std::string(symbol), at_ + symbol.size());
    }
    fail(line_, std::string("unexpected character ") +
                    (c >= 0x20 && c < 0x7f ? "'" + std::string(1, c) + "'" : "that is not ASCII"));
  }

  void number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < source_.size() &&
             (is_digit(source_[end]) ||
              (source_[end] == '_' && end + 1 < source_.size() && is_digit(source_[end + 1]))))
        ++end;
    };
    bool real = false;
    digits();
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      real = true;
      ++end;
      digits();
    }
    if (end + 1 < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const std::size_t sign = source_[end + 1] == '+' || source_[end + 1] == '-' ? 1 : 0;
      if (end + 1 + sign < source_.size() && is_digit(source_[end + 1 + sign])) {
        real = true;
        end += 1 + sign;
        digits();
      }
    }
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    push(real ? TokenType::real : TokenType::integer, std::move(text), end);
  }

  void push(TokenType type, std::string text, std::size_t end) {
    tokens_.push_back({type, std::move(text), line_});
    advance_to(end);
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // the last thing read ended a line
  std::vector<Token> tokens_;
};

}  // namespace

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const Character c = character_at(text, 0);
    if (!is_python_space(c.code)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    std::size_t start = text.size() - 1;  // of the last character
    while (start > 0 && text.size() - start < 4 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80)
      --start;
    const Character c = character_at(text, start);
    if (start + c.bytes != text.size() || !is_python_space(c.code)) break;
    text.remove_suffix(c.bytes);
  }
  return text;
}

std::vector<Token> lex(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace lynxkv::model::jinja
