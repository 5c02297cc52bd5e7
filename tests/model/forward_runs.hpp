// Ways to push one sequence through a Forward, for tests: whole, in chunks, token by token.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "model/forward.hpp"
#include "page/pool.hpp"

namespace lynxkv::testing {

using model::argmax;
using model::Forward;
using model::ModelConfig;
using model::ModelFile;
using model::SequenceRows;
using model::shape_of;
using model::TokenId;
using model::Weight;
using model::WeightShape;
using model::WeightSource;

inline constexpr int test_threads = 2;

// A sequence with a pool of its own.
struct OneSequence {
  page::PagePool pool;
  page::SequenceKv kv;

  explicit OneSequence(const Forward& forward, int page_tokens = 256)
      : pool(forward.geometry(page_tokens, 32), forward.kv_element(), 1 << 20), kv(pool) {}
};

// Logits of all rows, [tokens][vocab], computed `chunk` rows at a time (0: all at once).
inline std::vector<float> all_logits(Forward& forward, page::SequenceKv& kv, std::span<const TokenId> tokens,
                                     std::size_t chunk = 0) {
  std::vector<float> logits;
  if (chunk == 0) chunk = tokens.size();
  for (std::size_t first = 0; first < tokens.size(); first += chunk) {
    const auto part = tokens.subspan(first, std::min(chunk, tokens.size() - first));
    const SequenceRows batch[] = {{&kv, part, static_cast<int>(part.size())}};
    const auto some = forward.run(batch);
    logits.insert(logits.end(), some.begin(), some.end());
  }
  return logits;
}

// `count` tokens that greedy decoding appends, and the logits of each choice.
struct Continuation {
  std::vector<TokenId> tokens;
  std::vector<float> top_logits;
};
inline Continuation continue_greedily(Forward& forward, page::SequenceKv& kv,
                                      std::span<const float> last_logits, int count) {
  Continuation out;
  for (std::span<const float> logits = last_logits; static_cast<int>(out.tokens.size()) < count;) {
    const TokenId token = argmax(logits);
    out.tokens.push_back(token);
    out.top_logits.push_back(logits[static_cast<std::size_t>(token)]);
    const SequenceRows batch[] = {{&kv, std::span(&out.tokens.back(), 1), 1}};
    logits = forward.run(batch);
  }
  return out;
}

// Random weights of the size that keeps activations of order one.
class RandomWeights final : public WeightSource {
 public:
  RandomWeights(const ModelConfig& config, unsigned seed) : config_(config), seed_(seed) {}
  void read_rows(Weight weight, int layer, int first_row, int rows, float* out) const override {
    const WeightShape shape = shape_of(config_, weight);
    for (int row = first_row; row < first_row + rows; ++row) {
      std::mt19937 engine(seed_ + static_cast<unsigned>(weight) * 1000003u +
                          static_cast<unsigned>(layer) * 7919u + static_cast<unsigned>(row) * 31u);
      std::normal_distribution<float> value(shape.columns == 1 ? 1.0f : 0.0f,
                                            1.0f / std::sqrt(static_cast<float>(shape.columns)));
      for (int c = 0; c < shape.columns; ++c)
        *out++ = shape.columns == 1 ? 1.0f + 0.1f * std::sin(static_cast<float>(row)) : value(engine);
    }
  }

 private:
  ModelConfig config_;
  unsigned seed_;
};

// A small model of the llama family whose sizes are not multiples of anything handy.
inline ModelFile random_model(int layers = 2, int head_dim = 24) {
  ModelFile file;
  ModelConfig& c = file.config;
  c.family = "llama";
  c.layers = layers;
  c.hidden = 72;
  c.intermediate = 200;
  c.heads = 6;
  c.kv_heads = 2;
  c.head_dim = head_dim;
  c.vocab = 333;
  c.context_tokens = 2048;
  c.tied_embeddings = true;
  c.rope.rotary_dim = head_dim;
  file.weights = std::make_unique<RandomWeights>(c, 11u);
  return file;
}

}  // namespace lynxkv::testing
