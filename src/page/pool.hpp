// PagePool: fixed-size blocks, each large enough for one page tensor [page_tokens][channels].
// Memory grows in slabs as blocks are first used, up to a fixed number of blocks, and is reused after that.
// One thread uses a pool. Blocks are 64-byte aligned; their contents are undefined until written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "page/geometry.hpp"

namespace lynxkv::page {

using BlockId = std::int32_t;

class PagePool {
 public:
  // `max_blocks`: the most page tensors that may exist at a time (capacity of the KV memory).
  PagePool(const Geometry& geometry, Element element, std::int64_t max_blocks);

  const Geometry& geometry() const noexcept { return geometry_; }
  Element element() const noexcept { return element_; }
  std::size_t block_bytes() const noexcept { return block_bytes_; }

  // Admission: sets `blocks` aside so that later acquisitions cannot fail. False where they do not fit.
  bool reserve(std::int64_t blocks) noexcept;
  void unreserve(std::int64_t blocks) noexcept;

  // A free block. The caller has room by an earlier reserve(); more than max_blocks is a programmer's error.
  BlockId acquire();
  void release(BlockId block) noexcept;

  std::byte* data(BlockId block) noexcept;
  const std::byte* data(BlockId block) const noexcept;
  // Counts how often the block has been given out: a late write can be told from a current one.
  std::uint32_t generation(BlockId block) const noexcept;

  std::int64_t max_blocks() const noexcept { return max_blocks_; }
  std::int64_t reserved() const noexcept { return reserved_; }
  std::int64_t in_use() const noexcept { return in_use_; }
  // Bytes of memory held by slabs, used or free.
  std::size_t resident_bytes() const noexcept;

 private:
  struct FreeDeleter {
    void operator()(std::byte* memory) const noexcept;
  };
  void grow();

  Geometry geometry_;
  Element element_;
  std::size_t block_bytes_;
  int blocks_per_slab_;
  std::int64_t max_blocks_;
  std::int64_t reserved_ = 0;
  std::int64_t in_use_ = 0;
  std::vector<std::unique_ptr<std::byte[], FreeDeleter>> slabs_;
  std::vector<BlockId> free_;
  std::vector<std::uint32_t> generation_;
  std::vector<bool> taken_;
};

}  // namespace lynxkv::page
