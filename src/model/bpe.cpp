#include "model/bpe.hpp"

#include <bit>
#include <queue>

namespace lynxkv::model {
namespace {

std::uint64_t pair_of(TokenId left, TokenId right) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

// A merge that was possible when it was queued; its tokens may have been merged otherwise since.
struct Candidate {
  std::uint32_t rank;
  std::int32_t position;
  TokenId left, right, joined;
  bool operator<(const Candidate& other) const noexcept {  // the queue gives the greatest
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

struct Symbol {
  TokenId id;
  std::int32_t previous, next;  // -1: none
};

}  // namespace

Bpe::Bpe(const std::array<TokenId, 256>& byte_tokens, std::span<const Merge> merges)
    : byte_tokens_(byte_tokens), slots_(std::bit_ceil(2 * merges.size() + 2)) {
  std::uint32_t rank = 0;
  for (const Merge& merge : merges) {
    const std::uint64_t pair = pair_of(merge.left, merge.right);
    std::size_t at = slot_of(pair);
    while (slots_[at].pair != empty && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].pair == empty) slots_[at] = {pair, rank, merge.joined};
    ++rank;
  }
}

std::size_t Bpe::slot_of(std::uint64_t pair) const noexcept {
  return static_cast<std::size_t>((pair * 0x9e3779b97f4a7c15u) >> 20) & (slots_.size() - 1);
}

const Bpe::Slot* Bpe::find(TokenId left, TokenId right) const noexcept {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t at = slot_of(pair); slots_[at].pair != empty; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].pair == pair) return &slots_[at];
  return nullptr;
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& ids) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (const char c : piece) {
    const TokenId id = byte_tokens_[static_cast<unsigned char>(c)];
    if (id < 0) continue;
    const auto at = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, at - 1, at + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;

  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::int32_t position) {
    if (position < 0) return;
    const Symbol& left = symbols[static_cast<std::size_t>(position)];
    if (left.next < 0) return;
    const TokenId right = symbols[static_cast<std::size_t>(left.next)].id;
    if (const Slot* slot = find(left.id, right))
      queue.push({slot->rank, position, left.id, right, slot->joined});
  };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(static_cast<std::int32_t>(i));
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<std::size_t>(best.position)];
    if (left.id != best.left || left.next < 0) continue;
    Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    if (right.id != best.right) continue;
    left.id = best.joined;
    left.next = right.next;
    right.id = -1;  // gone
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.position;
    consider(left.previous);
    consider(best.position);
  }
  for (std::int32_t at = 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].next)
    ids.push_back(symbols[static_cast<std::size_t>(at)].id);
}

}  // namespace lynxkv::model
