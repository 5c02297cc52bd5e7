// Text to token ids and back, as the model file defines it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::model {

using TokenId = std::int32_t;

// Whether text such as "<|im_end|>" inside the input becomes that special token (a rendered template) or
// is read as ordinary characters (what an untrusted user typed).
enum class SpecialText { becomes_token, is_plain };

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Ids of UTF-8 text; nothing is added in front. Bytes that the vocabulary lacks vanish, as in the
  // reference.
  virtual std::vector<TokenId> encode(std::string_view text, SpecialText special) const = 0;
  // Text of ids. Broken UTF-8 is replaced by U+FFFD as the model's own tokenizer does. Ids outside the
  // vocabulary throw Error{bad_data}. `skip_special` leaves out special tokens.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special = false) const = 0;

  virtual int vocabulary_size() const noexcept = 0;
  // Whether the file wants `bos()` in front of a prompt.
  virtual bool adds_bos() const noexcept = 0;
  virtual TokenId bos() const noexcept = 0;  // -1: none
  virtual TokenId eos() const noexcept = 0;  // -1: none
  // Tokens that end a reply: eos and, for chat models, the end of turn.
  virtual bool is_end(TokenId id) const noexcept = 0;
  // Identity of vocabulary, merges and settings.
  virtual std::uint64_t hash() const noexcept = 0;
};

}  // namespace lynxkv::model
