// BufferPool: byte buffers that are used again. A fresh one of some hundred KiB costs its page faults, which is more
// than a fast link takes for its bytes. Any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace lynxkv::comm {

class BufferPool {
 public:
  // Holds at most `limit_bytes` for later; what comes beyond that is freed.
  explicit BufferPool(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // `bytes` bytes of whatever was there.
  std::vector<std::byte> take(std::size_t bytes) {
    std::vector<std::byte> buffer;
    if (bytes >= smallest_bytes) {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = free_.size(); i > 0 && i + looked_at > free_.size(); --i) {
        if (free_[i - 1].capacity() < bytes) continue;
        buffer = std::move(free_[i - 1]);
        free_[i - 1] = std::move(free_.back());
        free_.pop_back();
        held_bytes_ -= buffer.capacity();
        break;
      }
    }
    buffer.resize(bytes);
    return buffer;
  }

  void give(std::vector<std::byte> buffer) {
    if (buffer.capacity() < smallest_bytes) return;
    const std::lock_guard lock(mutex_);
    if (held_bytes_ + buffer.capacity() > limit_bytes_) return;
    held_bytes_ += buffer.capacity();
    free_.push_back(std::move(buffer));
  }

  std::size_t held_bytes() const {
    const std::lock_guard lock(mutex_);
    return held_bytes_;
  }

 private:
  // Smaller ones come from the allocator's own lists at little cost.
  static constexpr std::size_t smallest_bytes = 16 * 1024;
  static constexpr std::size_t looked_at = 16;

  mutable std::mutex mutex_;
  std::vector<std::vector<std::byte>> free_;
  std::size_t held_bytes_ = 0;
  std::size_t limit_bytes_;
};

}  // namespace lynxkv::comm
