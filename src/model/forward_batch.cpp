#include "model/forward_batch.hpp"

#include "base/check.hpp"

namespace lynxkv::model {

ForwardBatch::ForwardBatch(std::span<const SequenceRows> sequences) : sequences_(sequences) {
  for (const SequenceRows& sequence : sequences) {
    const int count = static_cast<int>(sequence.tokens.size());
    LYNXKV_CHECK(sequence.kv != nullptr && count > 0);
    LYNXKV_CHECK(sequence.logit_rows >= 0 && sequence.logit_rows <= count);
    const int first_row = rows(), first_position = sequence.kv->length();
    sequence.kv->extend(count);
    attention_.push_back({first_row, count, first_position, {}});
    tokens_.insert(tokens_.end(), sequence.tokens.begin(), sequence.tokens.end());
    for (int i = 0; i < count; ++i) positions_.push_back(first_position + i);
    for (int i = count - sequence.logit_rows; i < count; ++i) logit_rows_.push_back(first_row + i);
  }
  new_rows_.reserve(tokens_.size());
}

std::span<void* const> ForwardBatch::new_rows(int layer, page::Kind kind) {
  new_rows_.clear();
  for (const SequenceRows& sequence : sequences_) {
    page::SequenceKv& kv = *sequence.kv;
    for (int position = kv.length() - static_cast<int>(sequence.tokens.size()); position < kv.length();
         ++position)
      new_rows_.push_back(kv.row(layer, kind, position));
  }
  return new_rows_;
}

std::span<const kernels::AttentionRows> ForwardBatch::attention(int layer) {
  runs_.clear();
  for (const SequenceRows& sequence : sequences_)
    for (int page = 0; page < sequence.kv->page_count(); ++page)
      runs_.push_back({sequence.kv->page_data(layer, page::Kind::key, page),
                       sequence.kv->page_data(layer, page::Kind::value, page),
                       sequence.kv->page_first_position(page), sequence.kv->page_tokens(page)});
  std::size_t first = 0;
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    const auto pages = static_cast<std::size_t>(sequences_[s].kv->page_count());
    attention_[s].runs = std::span(runs_).subspan(first, pages);
    first += pages;
  }
  return attention_;
}

}  // namespace lynxkv::model
