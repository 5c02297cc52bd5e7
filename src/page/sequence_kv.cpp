#include "page/sequence_kv.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace lynxkv::page {

SequenceKv::SequenceKv(SequenceKv&& other) noexcept
    : pool_(other.pool_),
      pages_(std::exchange(other.pages_, {})),
      length_(std::exchange(other.length_, 0)),
      sealed_(std::exchange(other.sealed_, false)) {}

SequenceKv& SequenceKv::operator=(SequenceKv&& other) noexcept {
  if (this != &other) {
    clear();
    pool_ = other.pool_;
    pages_ = std::exchange(other.pages_, {});
    length_ = std::exchange(other.length_, 0);
    sealed_ = std::exchange(other.sealed_, false);
  }
  return *this;
}

void SequenceKv::extend(int tokens) {
  LYNXKV_CHECK(tokens >= 0);
  const int capacity = geometry().page_tokens;
  while (tokens > 0) {
    if (pages_.empty() || sealed_ || pages_.back().tokens == capacity) {
      Page page;
      page.first_position = length_;
      page.blocks.reserve(static_cast<std::size_t>(geometry().tensors_per_page()));
      for (int i = 0; i < geometry().tensors_per_page(); ++i) page.blocks.push_back(pool_->acquire());
      pages_.push_back(std::move(page));
      sealed_ = false;
    }
    const int added = std::min(tokens, capacity - pages_.back().tokens);
    pages_.back().tokens += added;
    length_ += added;
    tokens -= added;
  }
}

void SequenceKv::truncate(int length) {
  LYNXKV_CHECK(length >= 0 && length <= length_);
  while (!pages_.empty() && pages_.back().first_position >= length) {
    // The page in front of a dropped one was full or sealed: keep new positions off it if it is short.
    for (const BlockId block : pages_.back().blocks) pool_->release(block);
    pages_.pop_back();
    sealed_ = !pages_.empty() && pages_.back().tokens < geometry().page_tokens;
  }
  if (!pages_.empty()) {
    Page& last = pages_.back();
    const int kept = length - last.first_position;
    if (kept < last.tokens) {
      last.tokens = kept;
      sealed_ = false;
    }
  }
  length_ = length;
}

void SequenceKv::clear() noexcept {
  for (const Page& page : pages_)
    for (const BlockId block : page.blocks) pool_->release(block);
  pages_.clear();
  length_ = 0;
  sealed_ = false;
}

const SequenceKv::Page& SequenceKv::at(int page) const noexcept {
  LYNXKV_CHECK(page >= 0 && page < page_count());
  return pages_[static_cast<std::size_t>(page)];
}

const std::byte* SequenceKv::page_data(int layer, Kind kind, int page) const noexcept {
  LYNXKV_CHECK(layer >= 0 && layer < geometry().layers);
  return pool_->data(at(page).blocks[static_cast<std::size_t>(layer * 2 + static_cast<int>(kind))]);
}

std::byte* SequenceKv::page_data(int layer, Kind kind, int page) noexcept {
  return const_cast<std::byte*>(std::as_const(*this).page_data(layer, kind, page));
}

const std::byte* SequenceKv::row(int layer, Kind kind, int position) const noexcept {
  LYNXKV_CHECK(position >= 0 && position < length_);
  const auto behind = std::upper_bound(pages_.begin(), pages_.end(), position,
                                       [](int wanted, const Page& page) { return wanted < page.first_position; });
  const int page = static_cast<int>(behind - pages_.begin()) - 1;
  const auto row_bytes = static_cast<std::size_t>(geometry().channels()) * bytes_of(element());
  return page_data(layer, kind, page) + static_cast<std::size_t>(position - at(page).first_position) * row_bytes;
}

std::byte* SequenceKv::row(int layer, Kind kind, int position) noexcept {
  return const_cast<std::byte*>(std::as_const(*this).row(layer, kind, position));
}

std::int64_t SequenceKv::blocks_needed(const Geometry& geometry, int prompt, int more) noexcept {
  return std::int64_t{geometry.tensors_per_page()} * (geometry.pages_for(prompt) + geometry.pages_for(more));
}

}  // namespace lynxkv::page
