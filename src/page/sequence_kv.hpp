// SequenceKv: the KV cache of one sequence, as pages of a pool.
// Positions run from 0 without gaps. Every page holds consecutive positions; a page may be short where the
// sequence was sealed behind it: the prompt's pages arrive quantised from elsewhere and are never appended to.
#pragma once

#include <cstddef>
#include <vector>

#include "page/pool.hpp"

namespace lynxkv::page {

class SequenceKv {
 public:
  // The pool outlives the sequence. Blocks are acquired by extend() and go back in the destructor.
  explicit SequenceKv(PagePool& pool) : pool_(&pool) {}
  ~SequenceKv() { clear(); }
  SequenceKv(SequenceKv&& other) noexcept;
  SequenceKv& operator=(SequenceKv&& other) noexcept;
  SequenceKv(const SequenceKv&) = delete;
  SequenceKv& operator=(const SequenceKv&) = delete;

  const Geometry& geometry() const noexcept { return pool_->geometry(); }
  Element element() const noexcept { return pool_->element(); }
  // Positions 0 .. length()-1 exist.
  int length() const noexcept { return length_; }

  // Makes room for `tokens` more positions in every layer; their rows are undefined until written.
  void extend(int tokens);
  // Positions added from now on begin a fresh page.
  void seal() noexcept { sealed_ = true; }
  // Drops positions from `length` on. Pages that become empty are released.
  void truncate(int length);
  void clear() noexcept;

  // Pages, in order of position.
  int page_count() const noexcept { return static_cast<int>(pages_.size()); }
  int page_first_position(int page) const { return at(page).first_position; }
  int page_tokens(int page) const { return at(page).tokens; }
  // Rows of one page tensor: [page_tokens(page)][channels] of element().
  std::byte* page_data(int layer, Kind kind, int page) noexcept;
  const std::byte* page_data(int layer, Kind kind, int page) const noexcept;

  // Row of one position: [channels].
  std::byte* row(int layer, Kind kind, int position) noexcept;
  const std::byte* row(int layer, Kind kind, int position) const noexcept;

  // Blocks that `prompt` tokens in a sealed prefix and `more` tokens behind it occupy.
  static std::int64_t blocks_needed(const Geometry& geometry, int prompt, int more) noexcept;

 private:
  struct Page {
    int first_position = 0;
    int tokens = 0;
    std::vector<BlockId> blocks;  // [layers][K, V]
  };
  const Page& at(int page) const noexcept;

  PagePool* pool_;
  std::vector<Page> pages_;
  int length_ = 0;
  bool sealed_ = false;
};

}  // namespace lynxkv::page
