// The tokenizer of a checkpoint folder: tokenizer.json (byte-level BPE), with what tokenizer_config.json and
// generation_config.json add about the first and the last token of a text, and the chat template.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/tokenizer.hpp"

namespace lynxkv::model {

struct TokenizerTexts {
  std::string name;        // of tokenizer.json, for messages
  std::string tokenizer;   // the contents of tokenizer.json
  std::string settings;    // of tokenizer_config.json; may be empty
  std::string generation;  // of generation_config.json; may be empty
};

// `rows`: of the embedding. It may be longer than the vocabulary (padding, which stands for no text), not shorter.
// Null, with `problem` saying why in one line, for a tokenizer of a kind that we do not have; Error{bad_data} where
// the texts are damaged or contradict one another.
std::unique_ptr<Tokenizer> tokenizer_from_json(const TokenizerTexts& texts, int rows, std::string& problem);

// The template for conversations that tokenizer_config.json holds; empty where it holds none.
std::string chat_template_from_json(std::string_view settings, const std::string& name);

}  // namespace lynxkv::model
