// StagingRing: where messages stand in a piece of memory that is taken and given back in one order, first in first out.
// It hands out offsets and touches no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/check.hpp"

namespace lynxkv::comm {

class StagingRing {
 public:
  static constexpr std::size_t alignment = 256;

  explicit StagingRing(std::size_t bytes) : bytes_(bytes) { LYNXKV_CHECK(bytes > 0 && bytes % alignment == 0); }

  std::size_t bytes() const noexcept { return bytes_; }
  bool empty() const noexcept { return ends_.empty(); }

  // The offset of a place in one piece, of at most bytes(); none while too much is taken. A place for nothing counts too.
  std::optional<std::size_t> take(std::size_t bytes) {
    if (bytes > bytes_) return std::nullopt;
    if (ends_.empty()) begin_ = end_ = 0;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    std::uint64_t first = end_;
    if (const std::size_t at = first % bytes_; at + rounded > bytes_) first += bytes_ - at;  // it would run past the end
    if (first + rounded - begin_ > bytes_) return std::nullopt;
    end_ = first + rounded;
    ends_.push_back(end_);
    return first % bytes_;
  }

  // Gives back the oldest place.
  void give_back() {
    LYNXKV_CHECK(!ends_.empty());
    begin_ = ends_.front();
    ends_.pop_front();
  }

 private:
  std::size_t bytes_;
  // As if the memory went on for ever: what is taken lies between the two.
  std::uint64_t begin_ = 0, end_ = 0;
  std::deque<std::uint64_t> ends_;
};

}  // namespace lynxkv::comm
