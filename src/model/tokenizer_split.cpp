#include "model/tokenizer_split.hpp"

#include <array>
#include <utility>

#include "model/unicode.hpp"

namespace lynxkv::model {
namespace {

constexpr std::array<std::pair<std::string_view, SplitRule>, 9> rules = {{
    {"smollm", SplitRule::smollm},
    {"gpt-2", SplitRule::gpt2},
    {"gpt2", SplitRule::gpt2},
    {"llama-bpe", SplitRule::llama3},
    {"llama3", SplitRule::llama3},
    {"llama-v3", SplitRule::llama3},
    {"smaug-bpe", SplitRule::llama3},
    {"qwen2", SplitRule::qwen2},
    {"deepseek-r1-qwen", SplitRule::qwen2},
}};

// A character with its class, or the end of the text.
struct Seen {
  char32_t code = 0;
  std::uint32_t bytes = 0;  // 0: the end
  CharacterClass kind = CharacterClass::other;
  bool is(CharacterClass wanted) const noexcept { return bytes != 0 && kind == wanted; }
  bool is_break() const noexcept { return bytes != 0 && (code == '\n' || code == '\r'); }
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Seen at(std::size_t position) const noexcept {
    if (position >= text_.size()) return {};
    const Character c = character_at(text_, position);
    return {c.code, c.bytes, class_of(c.code)};
  }
  // The end of the run of this class that begins at `position`, at most `most` characters long.
  std::size_t run(std::size_t position, CharacterClass kind, int most = -1) const noexcept {
    for (Seen seen = at(position); seen.is(kind) && most != 0; seen = at(position), --most)
      position += seen.bytes;
    return position;
  }
  // The end of a contraction ('s 't 're 've 'm 'll 'd) at `position`, or `position` where there is none.
  std::size_t contraction(std::size_t position, bool any_case) const noexcept {
    if (position >= text_.size() || text_[position] != '\'') return position;
    const auto letter = [&](std::size_t i) -> char {
      if (i >= text_.size()) return 0;
      const char c = text_[i];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = letter(position + 1), second = letter(position + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return position + 2;
    if (any_case && text_.substr(position + 1, 2) == "\xc5\xbf")
      return position + 3;  // U+017F, which folds to s
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
      return position + 3;
    return position;
  }
  // White space from `position`: `\s+(?!\S)|\s+`. Before a visible character the run leaves its last one.
  std::size_t white_space(std::size_t position) const noexcept {
    std::size_t end = position, last = position;
    for (Seen seen = at(end); seen.is(CharacterClass::space); seen = at(end)) {
      last = end;
      end += seen.bytes;
    }
    return end < text_.size() && last > position ? last : end;
  }

  std::size_t next_gpt2(std::size_t position) const noexcept {
    if (const std::size_t end = contraction(position, false); end != position) return end;
    const Seen first = at(position);
    std::size_t start = position;
    if (first.code == ' ') ++start;
    const Seen seen = at(start);
    if (seen.bytes != 0 && seen.kind != CharacterClass::space) return run(start, seen.kind);
    return white_space(position);
  }

  std::size_t next_llama3(std::size_t position, int digits) const noexcept {
    if (const std::size_t end = contraction(position, true); end != position) return end;
    const Seen first = at(position);
    if (first.kind == CharacterClass::letter) return run(position, CharacterClass::letter);
    if (first.kind == CharacterClass::number) return run(position, CharacterClass::number, digits);
    const std::size_t second = position + first.bytes;
    if (!first.is_break() && at(second).is(CharacterClass::letter))
      return run(second, CharacterClass::letter);
    const std::size_t start = first.code == ' ' ? second : position;
    if (at(start).is(CharacterClass::other)) {
      std::size_t end = run(start, CharacterClass::other);
      while (at(end).is_break()) ++end;
      return end;
    }
    // \s*[\r\n]+ takes the white space up to its last line break.
    std::size_t end = position, after_break = position;
    for (Seen seen = at(end); seen.is(CharacterClass::space); seen = at(end)) {
      end += seen.bytes;
      if (seen.is_break()) after_break = end;
    }
    return after_break > position ? after_break : white_space(position);
  }

 private:
  std::string_view text_;
};

template <class Next>
void each_piece(std::string_view text, const std::function<void(std::string_view)>& piece, const Next& next) {
  const Scanner scanner(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = next(scanner, at);
    piece(text.substr(at, end - at));
    at = end;
  }
}

void split_gpt2(std::string_view text, const std::function<void(std::string_view)>& piece) {
  each_piece(text, piece, [](const Scanner& scanner, std::size_t at) { return scanner.next_gpt2(at); });
}

void split_smollm(std::string_view text, const std::function<void(std::string_view)>& piece) {
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if (class_of(c.code) == CharacterClass::number) {
      split_gpt2(text.substr(start, at - start), piece);
      piece(text.substr(at, c.bytes));
      start = at + c.bytes;
    }
    at += c.bytes;
  }
  split_gpt2(text.substr(start), piece);
}

}  // namespace

std::optional<SplitRule> split_rule_of_pattern(std::string_view pattern) noexcept {
  struct Published {
    std::string_view pattern;
    SplitRule rule;
  };
  constexpr Published published[] = {
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", SplitRule::gpt2},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       SplitRule::llama3},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       SplitRule::qwen2},
  };
  for (const Published& one : published)
    if (one.pattern == pattern) return one.rule;
  return std::nullopt;
}

std::optional<SplitRule> split_rule(std::string_view gguf_name) noexcept {
  for (const auto& [name, rule] : rules)
    if (name == gguf_name) return rule;
  return std::nullopt;
}

std::string split_rule_names() {
  std::string names;
  for (const auto& rule : rules) names += (names.empty() ? "" : ", ") + std::string(rule.first);
  return names;
}

void split(SplitRule rule, std::string_view text, const std::function<void(std::string_view)>& piece) {
  switch (rule) {
    case SplitRule::gpt2:
      return split_gpt2(text, piece);
    case SplitRule::smollm:
      return split_smollm(text, piece);
    case SplitRule::llama3:
    case SplitRule::qwen2: {
      const int digits = rule == SplitRule::llama3 ? 3 : 1;
      return each_piece(text, piece, [digits](const Scanner& scanner, std::size_t at) {
        return scanner.next_llama3(at, digits);
      });
    }
  }
}

}  // namespace lynxkv::model
