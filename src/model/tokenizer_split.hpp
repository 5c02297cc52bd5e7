// Cuts text into the pieces inside which byte pairs are merged, as each tokenizer's pattern does.
// Written out by hand: one pass, no regular expression engine, no backtracking on hostile text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lynxkv::model {

enum class SplitRule {
  gpt2,    // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  smollm,  // each \p{N} is cut off alone, then gpt2 on each stretch between
  llama3,  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
           // ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  qwen2,   // the same with \p{N} alone
};

// By the name that GGUF files have in `tokenizer.ggml.pre`; nothing where we do not have it.
std::optional<SplitRule> split_rule(std::string_view gguf_name) noexcept;
// By the pattern that a tokenizer.json holds; nothing where it is none of the published ones.
std::optional<SplitRule> split_rule_of_pattern(std::string_view pattern) noexcept;
// The names, for messages.
std::string split_rule_names();

// Calls `piece` for each piece in order; the pieces are all of the text.
void split(SplitRule rule, std::string_view text, const std::function<void(std::string_view)>& piece);

}  // namespace lynxkv::model
