// A model's KV of a document.
#pragma once

#include "model/forward.hpp"
#include "quality/capture.hpp"
#include "quality/document.hpp"

namespace lynxkv::quality {

// Extends `kv` by the document's tokens and seals it; the logits behind the last one, valid until the next run. Throws
// Error{usage} where the prompt and `more` tokens behind it do not fit the model's context.
std::span<const float> prefill(model::Forward& forward, const Document& document, int more, page::SequenceKv& kv);

// The KV alone, of `layers` or (empty) of all.
Capture prefilled(model::Forward& forward, const Document& document, std::vector<int> layers = {});

}  // namespace lynxkv::quality
