#include "stream/frame_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace lynxkv::stream {

int page_count(const Transfer& transfer) noexcept { return transfer.geometry.pages_for(transfer.tokens); }

int tensor_count(const Transfer& transfer) noexcept {
  return page_count(transfer) * transfer.geometry.tensors_per_page();
}

std::size_t index_of(const Transfer& transfer, const TensorId& tensor) noexcept {
  const int in_page = tensor.layer * 2 + static_cast<int>(tensor.kind);
  return static_cast<std::size_t>(tensor.page) * static_cast<std::size_t>(transfer.geometry.tensors_per_page()) +
         static_cast<std::size_t>(in_page);
}

TensorId tensor_at(const Transfer& transfer, std::size_t index) noexcept {
  const auto per_page = static_cast<std::size_t>(transfer.geometry.tensors_per_page());
  const auto in_page = static_cast<int>(index % per_page);
  return {in_page / 2, static_cast<page::Kind>(in_page % 2), static_cast<int>(index / per_page)};
}

codec::TensorShape shape_of(const Transfer& transfer, const TensorId& tensor) noexcept {
  const page::Geometry& geometry = transfer.geometry;
  codec::TensorShape shape;
  shape.first_position = tensor.page * geometry.page_tokens;
  shape.tokens = std::min(geometry.page_tokens, transfer.tokens - shape.first_position);
  shape.channels = geometry.channels();
  shape.head_dim = geometry.head_dim;
  shape.chunk_tokens = geometry.chunk_tokens;
  shape.layer = tensor.layer;
  shape.layers = geometry.layers;
  shape.kind = tensor.kind;
  shape.tokens_behind = transfer.tokens - shape.first_position - shape.tokens;
  return shape;
}

page::WireHeader settled_header(const Transfer& transfer, const TensorId& tensor, codec::StreamId stream) {
  const codec::TensorShape shape = shape_of(transfer, tensor);
  page::WireHeader h;
  h.request = transfer.request;
  h.generation = transfer.generation;
  h.page = static_cast<std::uint32_t>(tensor.page);
  h.first_position = static_cast<std::uint32_t>(shape.first_position);
  h.channels = static_cast<std::uint32_t>(shape.channels);
  const bool value = tensor.kind == page::Kind::value;
  h.alpha = value && transfer.options.alpha_v != 0 ? transfer.options.alpha_v : transfer.options.alpha;
  h.codec = page::wire_codec(transfer.codec->name());
  h.layer = static_cast<std::uint16_t>(tensor.layer);
  h.tokens = static_cast<std::uint16_t>(shape.tokens);
  const int chunk_tokens = value && transfer.options.chunk_tokens_v != 0 ? transfer.options.chunk_tokens_v : shape.chunk_tokens;
  h.chunk_tokens = static_cast<std::uint16_t>(std::min(chunk_tokens, transfer.geometry.page_tokens));
  h.head_dim = static_cast<std::uint16_t>(shape.head_dim);
  h.page_tokens = static_cast<std::uint16_t>(transfer.geometry.page_tokens);
  h.kind = tensor.kind;
  h.stream = static_cast<std::uint8_t>(stream);
  h.levels = static_cast<std::uint8_t>(transfer.options.levels);
  h.sigma = static_cast<std::uint8_t>(transfer.options.sigma);
  h.sinks = static_cast<std::uint8_t>(transfer.options.sinks);
  return h;
}

std::string difference(const page::WireHeader& announced, const page::WireHeader& found) {
  const auto differ = [](const char* field, auto expected, auto actual) -> std::string {
    if (expected == actual) return {};
    return fmt::format("{}: announced {}, found {}", field, expected, actual);
  };
  for (const std::string& text : {
           differ("codec tag", announced.codec, found.codec),
           differ("layer", announced.layer, found.layer),
           differ("kind", static_cast<int>(announced.kind), static_cast<int>(found.kind)),
           differ("page", announced.page, found.page),
           differ("page tokens", announced.page_tokens, found.page_tokens),
           differ("first position", announced.first_position, found.first_position),
           differ("tokens", announced.tokens, found.tokens),
           differ("channels", announced.channels, found.channels),
           differ("head dimension", announced.head_dim, found.head_dim),
           differ("chunk tokens", announced.chunk_tokens, found.chunk_tokens),
           differ("alpha", announced.alpha, found.alpha),
           differ("levels", static_cast<int>(announced.levels), static_cast<int>(found.levels)),
           differ("sigma mode", static_cast<int>(announced.sigma), static_cast<int>(found.sigma)),
           differ("sinks", static_cast<int>(announced.sinks), static_cast<int>(found.sinks)),
       })
    if (!text.empty()) return text;
  return {};
}

std::string place(int peer, std::uint64_t request, const TensorId& tensor, codec::StreamId stream) {
  const char* name = stream == codec::StreamId::anchor     ? "anchor"
                     : stream == codec::StreamId::residual ? "residual"
                                                           : "exact";
  return fmt::format("rank {}, request {}, layer {}, {}, page {}, stream {}", peer, request, tensor.layer,
                     tensor.kind == page::Kind::key ? "K" : "V", tensor.page, name);
}

}  // namespace lynxkv::stream
