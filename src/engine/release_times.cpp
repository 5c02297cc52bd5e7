#include "engine/release_times.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace lynxkv::engine {

ReleaseTimes::ReleaseTimes(const page::Geometry& geometry, int tokens, int chunk_tokens) : layers_(geometry.layers) {
  LYNXKV_CHECK(chunk_tokens > 0 && chunk_tokens % geometry.page_tokens == 0);
  const int pages = geometry.pages_for(tokens);
  const int pages_per_chunk = chunk_tokens / geometry.page_tokens;
  const int chunks = (pages + pages_per_chunk - 1) / pages_per_chunk;
  offset_.assign(static_cast<std::size_t>(chunks) * static_cast<std::size_t>(layers_), -1);
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int layer = 0; layer < layers_; ++layer)
      for (int page = chunk * pages_per_chunk; page < std::min(pages, (chunk + 1) * pages_per_chunk); ++page)
        for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
          order_.push_back({layer, kind, page});
          group_.push_back(static_cast<std::size_t>(chunk * layers_ + layer));
        }
}

void ReleaseTimes::complete(int chunk, int layer, std::int64_t offset_ns) {
  offset_.at(static_cast<std::size_t>(chunk * layers_ + layer)) = offset_ns;
}

}  // namespace lynxkv::engine
