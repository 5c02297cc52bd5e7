// Finds special tokens' texts inside a text: leftmost first, the longest where several begin at one place.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "model/tokenizer.hpp"

namespace lynxkv::model {

class SpecialTexts {
 public:
  // Texts that are empty or stand there already are left out.
  void add(std::string_view text, TokenId id);

  struct Found {
    std::size_t begin, end;  // begin == text.size(): none
    TokenId id;
  };
  Found find(std::string_view text, std::size_t from) const noexcept;

 private:
  // A trie; node 0 is the root.
  struct Node {
    std::map<char, std::int32_t> next;
    TokenId id = -1;
  };
  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace lynxkv::model
