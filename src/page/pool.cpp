#include "page/pool.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/check.hpp"

namespace lynxkv::page {
namespace {

constexpr std::size_t alignment_bytes = 64;
// Slabs are small next to any cache, so that memory follows use closely, and large next to a malloc header.
constexpr std::size_t slab_bytes_goal = std::size_t{8} << 20;

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

}  // namespace

void PagePool::FreeDeleter::operator()(std::byte* memory) const noexcept { std::free(memory); }

PagePool::PagePool(const Geometry& geometry, Element element, std::int64_t max_blocks)
    : geometry_(geometry),
      element_(element),
      block_bytes_(rounded_up(static_cast<std::size_t>(geometry.page_tokens) *
                              static_cast<std::size_t>(geometry.channels()) * bytes_of(element))),
      blocks_per_slab_(static_cast<int>(std::max<std::size_t>(1, slab_bytes_goal / std::max<std::size_t>(1, block_bytes_)))),
      max_blocks_(max_blocks) {
  LYNXKV_CHECK(geometry.page_tokens > 0 && geometry.channels() > 0 && geometry.layers > 0);
  LYNXKV_CHECK(max_blocks > 0 && max_blocks <= INT32_MAX);
}

bool PagePool::reserve(std::int64_t blocks) noexcept {
  LYNXKV_CHECK(blocks >= 0);
  if (blocks > max_blocks_ - reserved_) return false;
  reserved_ += blocks;
  return true;
}

void PagePool::unreserve(std::int64_t blocks) noexcept {
  LYNXKV_CHECK(blocks >= 0 && blocks <= reserved_);
  reserved_ -= blocks;
}

void PagePool::grow() {
  const auto have = static_cast<std::int64_t>(generation_.size());
  const auto more = std::min<std::int64_t>(blocks_per_slab_, max_blocks_ - have);
  LYNXKV_CHECK(more > 0);
  auto* memory = static_cast<std::byte*>(
      std::aligned_alloc(alignment_bytes, static_cast<std::size_t>(blocks_per_slab_) * block_bytes_));
  if (memory == nullptr) throw std::bad_alloc();
  slabs_.emplace_back(memory);
  generation_.resize(static_cast<std::size_t>(have + more), 0);
  taken_.resize(static_cast<std::size_t>(have + more), false);
  for (std::int64_t block = have + more; block-- > have;) free_.push_back(static_cast<BlockId>(block));
}

BlockId PagePool::acquire() {
  if (free_.empty()) grow();
  const BlockId block = free_.back();
  free_.pop_back();
  taken_[static_cast<std::size_t>(block)] = true;
  ++generation_[static_cast<std::size_t>(block)];
  ++in_use_;
  return block;
}

void PagePool::release(BlockId block) noexcept {
  LYNXKV_CHECK(block >= 0 && static_cast<std::size_t>(block) < taken_.size() &&
               taken_[static_cast<std::size_t>(block)]);
  taken_[static_cast<std::size_t>(block)] = false;
  free_.push_back(block);
  --in_use_;
}

std::byte* PagePool::data(BlockId block) noexcept {
  return const_cast<std::byte*>(std::as_const(*this).data(block));
}

const std::byte* PagePool::data(BlockId block) const noexcept {
  LYNXKV_CHECK(block >= 0 && static_cast<std::size_t>(block) < taken_.size());
  return slabs_[static_cast<std::size_t>(block / blocks_per_slab_)].get() +
         static_cast<std::size_t>(block % blocks_per_slab_) * block_bytes_;
}

std::uint32_t PagePool::generation(BlockId block) const noexcept {
  LYNXKV_CHECK(block >= 0 && static_cast<std::size_t>(block) < generation_.size());
  return generation_[static_cast<std::size_t>(block)];
}

std::size_t PagePool::resident_bytes() const noexcept {
  return slabs_.size() * static_cast<std::size_t>(blocks_per_slab_) * block_bytes_;
}

}  // namespace lynxkv::page
