// A ragged batch laid out for the kernels: rows of all sequences one below the other, and where their KV
// lies.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/attention.hpp"
#include "model/forward.hpp"

namespace lynxkv::model {

class ForwardBatch {
 public:
  // Extends each sequence's KV by its rows.
  explicit ForwardBatch(std::span<const SequenceRows> sequences);

  int rows() const noexcept { return static_cast<int>(tokens_.size()); }
  std::span<const TokenId> tokens() const noexcept { return tokens_; }
  std::span<const int> positions() const noexcept { return positions_; }
  // Rows whose logits are wanted, in batch order.
  std::span<const int> logit_rows() const noexcept { return logit_rows_; }

  // Where the rows' own K or V of a layer go: [rows].
  std::span<void* const> new_rows(int layer, page::Kind kind);
  // What attention reads in a layer.
  std::span<const kernels::AttentionRows> attention(int layer);

 private:
  std::span<const SequenceRows> sequences_;
  std::vector<TokenId> tokens_;
  std::vector<int> positions_;
  std::vector<int> logit_rows_;
  std::vector<void*> new_rows_;
  std::vector<kernels::KvRun> runs_;
  std::vector<kernels::AttentionRows> attention_;
};

}  // namespace lynxkv::model
