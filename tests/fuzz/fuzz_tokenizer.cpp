// Hostile text through a small tokenizer that has a token for every byte: decoding gives the text back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "model/tokenizer_bytelevel.hpp"
#include "model/tokenizer_spelling.hpp"
#include "model/unicode.hpp"

namespace {

using namespace lynxkv::model;

std::unique_ptr<Tokenizer> make(SplitRule rule) {
  TokenizerParts parts;
  parts.where = "fuzz";
  parts.rule = rule;
  for (int byte = 0; byte < 256; ++byte)
    parts.tokens.push_back(spell(std::string(1, static_cast<char>(byte))));
  const auto merge = [&](const std::string& left, const std::string& right) {
    parts.merges.emplace_back(spell(left), spell(right));
    parts.tokens.push_back(spell(left + right));
  };
  merge("a", "b");
  merge("ab", "ab");
  merge(" ", "a");
  merge(" ", " ");
  merge("  ", "  ");
  merge("\xc3", "\xa9");
  merge("'", "s");
  parts.kinds.assign(parts.tokens.size(), TokenKind::normal);
  for (const char* special : {"<|im_start|>", "<|im_end|>"}) {
    parts.tokens.emplace_back(special);
    parts.kinds.push_back(TokenKind::control);
  }
  return make_byte_level_tokenizer(std::move(parts));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<Tokenizer> tokenizers[] = {make(SplitRule::smollm), make(SplitRule::gpt2),
                                                          make(SplitRule::llama3), make(SplitRule::qwen2)};
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& tokenizer : tokenizers)
    for (const SpecialText mode : {SpecialText::becomes_token, SpecialText::is_plain})
      if (tokenizer->decode(tokenizer->encode(text, mode)) != with_replacements(text)) std::abort();
  return 0;
}
