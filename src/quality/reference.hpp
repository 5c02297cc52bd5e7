// What a model says behind a prompt, on its own KV and on KV that went through a codec.
//
// Protocol: the prompt is prefilled; the model goes on greedily for some tokens. Then those tokens are fed at once
// to a KV whose prompt part is a codec's (the rows behind the prompt are the model's own), and the distribution of
// each row is compared with the one that the unquantised KV gives for the same tokens. Nothing drifts: row i of both
// has seen the same text.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/attention.hpp"
#include "model/forward.hpp"
#include "quality/capture.hpp"
#include "quality/distortion.hpp"
#include "quality/document.hpp"

namespace lynxkv::quality {

// How far the model's answers moved.
struct Agreement {
  double kl = 0;         // nats, mean over rows: KL(unquantised || quantised)
  double argmax = 0;     // share of rows with the same most likely token
  double attention = 0;  // |o' - o|^2 / |o|^2 of the attention output for the unquantised queries, mean over layers
};

struct LevelOutcome {
  LevelDistortion distortion;
  Agreement agreement;
};
struct Outcome {
  Bits bits;
  std::vector<LevelOutcome> levels;
};

// One document at a time: memory for its KV twice, and for [continuation][vocab] logits twice.
class Reference {
 public:
  // `forward` outlives it. continuation: greedy tokens, 1 or more; prompt and continuation fit the model's context,
  // else Error{usage}.
  Reference(model::Forward& forward, const Document& document, int continuation);

  const Capture& capture() const noexcept { return capture_; }
  std::span<const model::TokenId> continuation() const noexcept { return continuation_; }
  Outcome examine(const codec::Codec& codec);
  // Levels left out of it are not answered for: their agreement stays 0.
  Outcome examine(const codec::Codec& codec, std::span<const codec::Level> wanted);

 private:
  std::vector<kernels::KvRun> runs(const page::SequenceKv& prompt, int layer) const;
  void attend(const page::SequenceKv& prompt, int layer, std::vector<float>& out) const;
  Agreement agreement_of(page::SequenceKv& prompt);

  model::Forward& forward_;
  page::PagePool pool_;
  page::SequenceKv kv_;  // the prompt, sealed, and the continuation behind it
  int tokens_ = 0, prompt_pages_ = 0;
  Capture capture_;
  std::vector<model::TokenId> continuation_;
  std::vector<float> logits_;                // [continuation][vocab]
  std::vector<double> log_sum_;              // [continuation]: log of the sum of exp(logit - largest), plus largest
  std::vector<std::vector<float>> queries_;  // [layers]: [continuation][heads * head_dim]
};

// KL(p || q) in nats of two rows of logits. Both have the same size.
double divergence(std::span<const float> p, std::span<const float> q);

}  // namespace lynxkv::quality
