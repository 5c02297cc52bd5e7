// Byte-level BPE: text is cut into pieces, each byte of a piece is a token, neighbours are merged. In the
// file, tokens are spelled with one printable character per byte.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf.hpp"
#include "model/tokenizer.hpp"
#include "model/tokenizer_split.hpp"

namespace lynxkv::model {

// GGUF's numbers.
enum class TokenKind : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

// What a model file says about its tokenizer, whatever the file's format.
struct TokenizerParts {
  std::string where;                                        // for messages
  std::vector<std::string> tokens;                          // as spelled in the file
  std::vector<TokenKind> kinds;                             // of each token
  std::vector<std::pair<std::string, std::string>> merges;  // spelled likewise, first merged first
  SplitRule rule = SplitRule::gpt2;
  bool whole_pieces_first = false;  // a piece that is a token is not merged from its bytes
  bool adds_bos = false;
  TokenId bos = -1, eos = -1;
  std::vector<TokenId> ends;  // beside eos
};

// Throws Error{bad_data} where the parts contradict one another: an id outside the vocabulary, a token that
// stands twice, a merge of tokens that are not there.
std::unique_ptr<Tokenizer> make_byte_level_tokenizer(TokenizerParts parts);

// The tokenizer of a GGUF file. Null, with `problem` saying why, where the file has none or one of a kind
// that we do not have; Error{bad_data} where it is damaged.
std::unique_ptr<Tokenizer> tokenizer_from_gguf(const Gguf& file, std::string& problem);

}  // namespace lynxkv::model
