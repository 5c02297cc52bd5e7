#include "model/tokenizer_specials.hpp"

namespace lynxkv::model {

void SpecialTexts::add(std::string_view text, TokenId id) {
  if (text.empty()) return;
  std::size_t at = 0;
  for (const char c : text) {
    const auto [entry, added] = nodes_[at].next.emplace(c, static_cast<std::int32_t>(nodes_.size()));
    at = static_cast<std::size_t>(entry->second);
    if (added) nodes_.emplace_back();
  }
  if (nodes_[at].id < 0) nodes_[at].id = id;
}

SpecialTexts::Found SpecialTexts::find(std::string_view text, std::size_t from) const noexcept {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    Found longest{text.size(), text.size(), -1};
    std::size_t at = 0;
    for (std::size_t i = begin; i < text.size(); ++i) {
      const auto step = nodes_[at].next.find(text[i]);
      if (step == nodes_[at].next.end()) break;
      at = static_cast<std::size_t>(step->second);
      if (nodes_[at].id >= 0) longest = {begin, i + 1, nodes_[at].id};
    }
    if (longest.id >= 0) return longest;
  }
  return {text.size(), text.size(), -1};
}

}  // namespace lynxkv::model
