// The order in which a prompt's page tensors leave, and when each became available during its prefill.
// A prompt is prefilled once and sent in several modes: later modes that stream replay these times, so that
// every mode sees its pages become available exactly as the first one did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "page/geometry.hpp"

namespace lynxkv::engine {

struct TensorAt {
  int layer = 0;
  page::Kind kind = page::Kind::key;
  int page = 0;
};

class ReleaseTimes {
 public:
  ReleaseTimes() = default;
  // `tokens` positions, computed `chunk_tokens` (a multiple of the page) at a time, layer after layer.
  ReleaseTimes(const page::Geometry& geometry, int tokens, int chunk_tokens);

  // All page tensors, in the order in which prefill completes them: chunk, layer, page of the chunk, K, V.
  const std::vector<TensorAt>& order() const noexcept { return order_; }
  // Notes that `layer` of `chunk` is complete, `offset_ns` after prefill began.
  void complete(int chunk, int layer, std::int64_t offset_ns);
  // Whether the tensor at `index` of the order is complete, and since when.
  bool available(std::size_t index) const noexcept { return offset_[group_[index]] >= 0; }
  std::int64_t offset_ns(std::size_t index) const noexcept { return offset_[group_[index]]; }

 private:
  int layers_ = 0;
  std::vector<TensorAt> order_;
  std::vector<std::size_t> group_;    // of each entry of the order: chunk * layers + layer
  std::vector<std::int64_t> offset_;  // of each group; -1: not complete
};

}  // namespace lynxkv::engine
