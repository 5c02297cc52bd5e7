// Byte-pair merging of one piece of text. A merge joins two neighbouring tokens; of those possible, the one
// that the file lists first is done first, and the leftmost of equals.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer.hpp"

namespace lynxkv::model {

struct Merge {
  TokenId left, right, joined;
};

class Bpe {
 public:
  // `byte_tokens[b]`: the token of byte b alone; -1: the vocabulary has none, and the byte vanishes.
  // Of two merges of the same pair the first counts.
  Bpe(const std::array<TokenId, 256>& byte_tokens, std::span<const Merge> merges);

  // Appends the ids of `piece`. O(n log n) in its bytes.
  void encode(std::string_view piece, std::vector<TokenId>& ids) const;

 private:
  // Open addressing: a look-up per pair of neighbours is what encoding spends its time on.
  struct Slot {
    std::uint64_t pair = empty;
    std::uint32_t rank = 0;
    TokenId joined = -1;
  };
  static constexpr std::uint64_t empty = ~std::uint64_t{0};

  const Slot* find(TokenId left, TokenId right) const noexcept;
  std::size_t slot_of(std::uint64_t pair) const noexcept;

  std::array<TokenId, 256> byte_tokens_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace lynxkv::model
