#include "quality/prefill.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"

namespace lynxkv::quality {

std::span<const float> prefill(model::Forward& forward, const Document& document, int more, page::SequenceKv& kv) {
  const auto tokens = static_cast<int>(document.tokens.size());
  LYNXKV_CHECK(tokens > 0 && more >= 0 && kv.length() == 0);
  if (const int most = forward.config().context_tokens; tokens > most - more)
    throw Error(ErrorCode::usage, document.name,
                "a prompt of " + std::to_string(tokens) + " tokens and " + std::to_string(more) +
                    " behind it: the model's context has " + std::to_string(most));
  const std::span<const model::TokenId> prompt(document.tokens);
  const auto step = static_cast<std::size_t>(page::default_page_tokens);
  std::span<const float> logits;
  for (std::size_t first = 0; first < prompt.size(); first += step) {
    const auto part = prompt.subspan(first, std::min(step, prompt.size() - first));
    const model::SequenceRows batch[] = {{&kv, part, 1}};
    logits = forward.run(batch);
  }
  kv.seal();
  return logits;
}

Capture prefilled(model::Forward& forward, const Document& document, std::vector<int> layers) {
  page::PagePool pool(forward.geometry(page::default_page_tokens, page::default_chunk_tokens), forward.kv_element(), 1 << 24);
  page::SequenceKv kv(pool);
  prefill(forward, document, 0, kv);
  if (layers.empty()) layers = all_layers(kv.geometry());
  return capture_of(kv, kv.length(), std::move(layers));
}

}  // namespace lynxkv::quality
