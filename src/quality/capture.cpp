#include "quality/capture.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace lynxkv::quality {
namespace {

struct Part {
  std::size_t first, count;  // values
};
Part part_of(const Capture& capture, std::size_t index, int page) {
  LYNXKV_CHECK(index < capture.layers.size() && page >= 0 && page < capture.pages());
  const auto channels = static_cast<std::size_t>(capture.geometry.channels());
  const int from = page * capture.geometry.page_tokens;
  const int tokens = std::min(capture.geometry.page_tokens, capture.tokens - from);
  return {(index * static_cast<std::size_t>(capture.tokens) + static_cast<std::size_t>(from)) * channels,
          static_cast<std::size_t>(tokens) * channels};
}

}  // namespace

codec::TensorShape Capture::shape(std::size_t index, page::Kind kind, int page) const {
  codec::TensorShape shape;
  shape.first_position = page * geometry.page_tokens;
  shape.tokens = std::min(geometry.page_tokens, tokens - shape.first_position);
  shape.channels = geometry.channels();
  shape.head_dim = geometry.head_dim;
  shape.chunk_tokens = geometry.chunk_tokens;
  shape.layer = layers[index];
  shape.layers = geometry.layers;
  shape.kind = kind;
  shape.tokens_behind = tokens - shape.first_position - shape.tokens;
  return shape;
}

std::span<const Bf16> Capture::rows(std::size_t index, page::Kind kind, int page) const {
  const Part part = part_of(*this, index, page);
  return std::span(kind == page::Kind::key ? keys : values).subspan(part.first, part.count);
}
std::span<Bf16> Capture::rows(std::size_t index, page::Kind kind, int page) {
  const Part part = part_of(*this, index, page);
  return std::span(kind == page::Kind::key ? keys : values).subspan(part.first, part.count);
}

std::vector<int> all_layers(const page::Geometry& geometry) {
  std::vector<int> layers;
  for (int layer = 0; layer < geometry.layers; ++layer) layers.push_back(layer);
  return layers;
}

Capture make_capture(const page::Geometry& geometry, int tokens, std::vector<int> layers) {
  Capture capture{geometry, tokens, std::move(layers), {}, {}};
  const std::size_t size =
      capture.layers.size() * static_cast<std::size_t>(tokens) * static_cast<std::size_t>(geometry.channels());
  capture.keys.resize(size);
  capture.values.resize(size);
  return capture;
}

Capture capture_of(const page::SequenceKv& kv, int tokens, std::vector<int> layers) {
  Capture capture = make_capture(kv.geometry(), tokens, std::move(layers));
  for (std::size_t index = 0; index < capture.layers.size(); ++index)
    for (const page::Kind kind : {page::Kind::key, page::Kind::value})
      for (int page = 0; page < capture.pages(); ++page) {
        const std::span<Bf16> rows = capture.rows(index, kind, page);
        const std::byte* from = kv.page_data(capture.layers[index], kind, page);
        if (kv.element() == page::Element::bf16) {
          std::memcpy(rows.data(), from, rows.size_bytes());
        } else {
          const auto* floats = reinterpret_cast<const float*>(from);
          for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = to_bf16(floats[i]);
        }
      }
  return capture;
}

}  // namespace lynxkv::quality
