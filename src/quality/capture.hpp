// The KV of one prompt, on its own: what codecs are measured on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/bf16.hpp"
#include "codec/codec.hpp"
#include "page/sequence_kv.hpp"

namespace lynxkv::quality {

// Positions 0 .. tokens-1 of some layers.
struct Capture {
  page::Geometry geometry;
  int tokens = 0;
  std::vector<int> layers;  // of the model, ascending: those that are here
  // [layers.size()][tokens][channels] each
  std::vector<Bf16> keys, values;

  int pages() const { return geometry.pages_for(tokens); }
  std::size_t page_tensors() const { return layers.size() * 2 * static_cast<std::size_t>(pages()); }
  // `index` counts `layers`. Rows of a page tensor lie together.
  codec::TensorShape shape(std::size_t index, page::Kind kind, int page) const;
  std::span<const Bf16> rows(std::size_t index, page::Kind kind, int page) const;
  std::span<Bf16> rows(std::size_t index, page::Kind kind, int page);
};

// An empty capture of this size; its values are zero.
Capture make_capture(const page::Geometry& geometry, int tokens, std::vector<int> layers);
std::vector<int> all_layers(const page::Geometry& geometry);

// The first `tokens` positions of `kv`, whose pages are full up to there (float32 is rounded to bf16).
Capture capture_of(const page::SequenceKv& kv, int tokens, std::vector<int> layers);

}  // namespace lynxkv::quality
