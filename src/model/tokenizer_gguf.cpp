// A GGUF file's tokenizer: "gpt2" (byte-level BPE) with the pre-tokenizers of tokenizer_split.hpp.
#include <limits>

#include "model/gguf_cursor.hpp"
#include "model/tokenizer_bytelevel.hpp"
#include "model/tokenizer_turns.hpp"

namespace lynxkv::model {
namespace {

std::vector<TokenKind> read_kinds(const Gguf& file, std::size_t tokens) {
  const auto numbers = file.integers("tokenizer.ggml.token_type");
  if (!numbers) return std::vector<TokenKind>(tokens, TokenKind::normal);
  std::vector<TokenKind> kinds;
  for (const std::int32_t number : *numbers) {
    if (number < 1 || number > 6)
      throw file.error("expected 1 to 6 as 'tokenizer.ggml.token_type' of token " +
                       std::to_string(kinds.size()) + ", found " + std::to_string(number));
    kinds.push_back(static_cast<TokenKind>(number));
  }
  return kinds;
}

std::vector<std::pair<std::string, std::string>> read_merges(const Gguf& file) {
  const auto texts = file.texts("tokenizer.ggml.merges");
  if (!texts) throw file.error("expected the metadata 'tokenizer.ggml.merges', found none");
  std::vector<std::pair<std::string, std::string>> merges;
  merges.reserve(texts->size());
  for (const std::string_view text : *texts) {
    const auto space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size())
      throw file.error("expected two tokens with a space between as merge " + std::to_string(merges.size()) +
                       ", found " + quoted(text));
    merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  return merges;
}

// Every "..._token_id" of the file names a token, whether we use it or not: one that does not is a sign of
// damage.
TokenId read_id(const Gguf& file, std::string_view key, std::size_t tokens) {
  const std::int64_t id = file.integer(key).value_or(-1);
  if (file.find(key) != nullptr && (id < 0 || id >= static_cast<std::int64_t>(tokens)))
    throw file.error("expected a token id from 0 to " + std::to_string(tokens - 1) + " as " + quoted(key) +
                     ", found " + std::to_string(id));
  return static_cast<TokenId>(id);
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_gguf(const Gguf& file, std::string& problem) {
  const auto model = file.text("tokenizer.ggml.model");
  if (!model) {
    problem = "the file has no tokenizer";
    return nullptr;
  }
  if (*model != "gpt2") {
    problem =
        "expected tokenizer 'gpt2' (byte-level BPE), found " + quoted(*model) + ", which is not supported";
    return nullptr;
  }
  const auto pre = file.text("tokenizer.ggml.pre");
  const auto rule = pre ? split_rule(*pre) : std::nullopt;
  if (!rule) {
    problem = "expected a pre-tokenizer of " + split_rule_names() + ", found " +
              (pre ? quoted(*pre) : "none named") + ", which is not supported";
    return nullptr;
  }
  TokenizerParts parts;
  parts.where = file.name();
  parts.rule = *rule;
  parts.whole_pieces_first = *rule == SplitRule::llama3;
  const auto tokens = file.texts("tokenizer.ggml.tokens");
  if (!tokens || tokens->empty()) throw file.error("expected tokens in 'tokenizer.ggml.tokens', found none");
  parts.tokens.assign(tokens->begin(), tokens->end());
  parts.kinds = read_kinds(file, tokens->size());
  parts.merges = read_merges(file);
  for (const GgufEntry& entry : file.entries())
    if (entry.key.starts_with("tokenizer.ggml.") && entry.key.ends_with("_token_id"))
      read_id(file, entry.key, tokens->size());
  parts.bos = read_id(file, "tokenizer.ggml.bos_token_id", tokens->size());
  parts.eos = read_id(file, "tokenizer.ggml.eos_token_id", tokens->size());
  parts.adds_bos = file.boolean("tokenizer.ggml.add_bos_token").value_or(*rule == SplitRule::llama3);
  if (parts.adds_bos && parts.bos < 0)
    throw file.error(
        "expected 'tokenizer.ggml.bos_token_id' where the file asks for that token in front, found none");
  for (const std::string_view key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (const TokenId id = read_id(file, key, tokens->size()); id >= 0) parts.ends.push_back(id);
  for (std::size_t i = 0; i < tokens->size() && i < parts.kinds.size(); ++i)
    if (parts.kinds[i] == TokenKind::control && ends_a_turn((*tokens)[i]))
      parts.ends.push_back(static_cast<TokenId>(i));
  return make_byte_level_tokenizer(std::move(parts));
}

}  // namespace lynxkv::model
