// The shape of a model's KV cache and how it is cut into pages.
//   page tensor: the K or the V of one layer, up to page_tokens consecutive tokens by channels() values,
//                token-major, all KV heads side by side. It is the unit of storage, coding and transfer.
//   chunk:       chunk_tokens tokens inside a page, aligned to the page's first token; the unit of scalars.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lynxkv::page {

enum class Kind : std::uint8_t { key = 0, value = 1 };
enum class Element : std::uint8_t { bf16 = 0, f32 = 1 };

constexpr int default_page_tokens = 256;
constexpr int default_chunk_tokens = 32;

constexpr std::size_t bytes_of(Element element) { return element == Element::bf16 ? 2 : 4; }

struct Geometry {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int page_tokens = default_page_tokens;
  int chunk_tokens = default_chunk_tokens;

  constexpr int channels() const { return kv_heads * head_dim; }
  constexpr int pages_for(int tokens) const { return (tokens + page_tokens - 1) / page_tokens; }
  constexpr int tensors_per_page() const { return layers * 2; }
  friend constexpr bool operator==(const Geometry&, const Geometry&) = default;
};

}  // namespace lynxkv::page
