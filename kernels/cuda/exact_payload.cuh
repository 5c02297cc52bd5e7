// Reading an exact payload on a GPU: where its segments lie, checked against its size, and a segment's words,
// which a warp brings into shared memory before its lanes take them.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/codec_slice.cuh"
#include "kernels/exact.hpp"

namespace lynxkv::kernels::cuda {

constexpr std::uint32_t exact_stored = 0, exact_coded = 1;
constexpr std::size_t exact_form_bytes = 4, exact_counts_bytes = 8, exact_states_bytes = exact_lanes * 4;

// Where a segment's part lies.
struct SegmentMark {
  std::size_t at;  // of its states, from the payload's first byte on
  std::uint32_t words, extras;
};

// Sum over the warp's lanes up to this one.
__device__ inline std::uint64_t running_sum(std::uint64_t value, int lane) {
  for (int step = 1; step < lanes; step *= 2) {
    const std::uint64_t below = __shfl_sync(whole_warp, value, lane >= step ? lane - step : lane);
    if (lane >= step) value += below;
  }
  return value;
}

// One warp: the marks of segments [first, last) of all `segments`. False where the counts and the payload's
// size do not agree, or a segment claims more than its values can use; then no mark may be used.
__device__ inline bool find_segments(const std::byte* payload, std::size_t payload_bytes, int segments,
                                     int first, int last, int lane, SegmentMark* marks) {
  const std::size_t parts_at = exact_form_bytes + static_cast<std::size_t>(segments) * exact_counts_bytes;
  if (payload_bytes < parts_at) return false;
  std::uint64_t begin = 0;
  bool fits = true;
  for (int base = 0; base < segments; base += lanes) {
    const int segment = base + lane;
    std::uint64_t words = 0, extras = 0, bytes = 0;
    if (segment < segments) {
      const auto* counts = reinterpret_cast<const unsigned int*>(payload + exact_form_bytes) + 2 * segment;
      words = __ldg(counts);
      extras = __ldg(counts + 1);
      bytes = exact_states_bytes + (words + extras) * 2;
      fits = fits && words <= exact_segment_values && extras <= exact_segment_values;
    }
    const std::uint64_t end = begin + running_sum(bytes, lane);
    if (segment >= first && segment < last)
      marks[segment - first] = {parts_at + static_cast<std::size_t>(end - bytes),
                                static_cast<std::uint32_t>(words), static_cast<std::uint32_t>(extras)};
    begin = __shfl_sync(whole_warp, end, lanes - 1);
  }
  return __all_sync(whole_warp, fits) != 0 && begin == payload_bytes - parts_at;
}

// A segment's words, in order. Two stretches of 256 words lie in shared memory, of which the lanes use at
// most one in a tile, and the next stretch is under way in registers.
class WordRing {
 public:
  static constexpr int stretch = lanes * 4, capacity = 2 * stretch;  // pairs of words

  // `at`: of the first word, even; payload: 4-byte aligned.
  __device__ WordRing(const std::byte* payload, std::size_t payload_bytes, std::size_t at, int words,
                      std::uint32_t* ring, int lane)
      : payload_(payload),
        bytes_(payload_bytes),
        first_(at / 4),
        head_(static_cast<int>(at % 4 / 2)),
        words_(words),
        pairs_(words > 0 ? (head_ + words + 1) / 2 : 0),
        ring_(ring),
        lane_(lane) {
    fetch();
  }

  // Before each tile, by the whole warp: the words that the tile may take are there.
  __device__ void refill() {
    while (kept_ - (head_ + taken_) / 2 <= stretch && kept_ < pairs_) {
      __syncwarp();  // nobody reads the oldest stretch any more
      for (int i = 0; i < 4; ++i) ring_[(kept_ + i * lanes + lane_) % capacity] = ahead_[i];
      kept_ += stretch;
      fetch();
    }
    __syncwarp();
  }
  // False where there is no such word: the payload is damaged. `behind`: words that lanes before this one
  // take.
  __device__ bool take(int behind, std::uint32_t& word) const {
    const int index = taken_ + behind;
    if (index >= words_) return false;
    const int at = head_ + index;
    word = ring_[at / 2 % capacity] >> (at % 2 * 16) & 0xffffu;
    return true;
  }
  __device__ void took(int words) { taken_ += words; }
  __device__ bool all_taken() const { return taken_ == words_; }

 private:
  // Pair `kept_` and what follows, to registers.
  __device__ void fetch() {
    for (int i = 0; i < 4; ++i) {
      const int pair = kept_ + i * lanes + lane_;
      ahead_[i] = pair < pairs_ ? load(first_ + static_cast<std::size_t>(pair)) : 0;
    }
  }
  __device__ std::uint32_t load(std::size_t pair) const {
    const std::byte* at = payload_ + pair * 4;
    if (pair * 4 + 4 <= bytes_) return __ldcs(reinterpret_cast<const unsigned int*>(at));
    return __ldcs(reinterpret_cast<const unsigned short*>(at));  // a payload's size is even
  }

  const std::byte* payload_;
  std::size_t bytes_, first_;  // bytes of the payload; its pair that holds the first word
  int head_, words_, pairs_;
  std::uint32_t* ring_;
  int lane_;
  std::uint32_t ahead_[4];
  int taken_ = 0, kept_ = 0;  // words; pairs
};

}  // namespace lynxkv::kernels::cuda
