// The forward pass: rows of several sequences at once (a ragged batch) over paged KV caches.
// A row's result depends on its token, position and KV alone: not on how many rows run with it, on batch
// neighbours, on how the KV is cut into pages or on the number of threads. That is what makes verification
// exact; tests hold it bit for bit. One Forward at a time runs in a process, on the thread that made it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/runtime.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer.hpp"
#include "page/sequence_kv.hpp"

namespace lynxkv::model {

enum class Precision { bf16, float32 };  // of weights, GEMM inputs and KV; sums are float32 in both

// Kernel paths, best first. Results are bit-equal only between runs on the same path.
using kernels::best_isa;
using kernels::Isa;
using kernels::name_of;
Isa isa_from(std::string_view name);  // "auto" gives best_isa(); throws Error{usage}

struct ForwardOptions {
  Precision precision = Precision::bf16;
  Isa isa = best_isa();  // or a lower one
  int threads = 1;  // of the whole process: the first Forward, or an earlier start_runtime(), sets the most
};

// Rows of one sequence: tokens at positions kv->length() .. in order. run() extends the KV by them.
// For prompt-only runs no logits are needed: logit_rows = 0.
struct SequenceRows {
  page::SequenceKv* kv = nullptr;
  std::span<const TokenId> tokens;
  int logit_rows = 0;  // logits wanted for the last so many of `tokens`
};

// Called after layer `layer` has written its K and V rows for the whole batch.
using LayerHook = std::function<void(int layer)>;

// A layer's rotated queries, for those who study attention: row r, head h, element i is at
// query[r * stride + h * head_dim + i]. Valid during the call.
struct QueryView {
  int layer = 0;
  int rows = 0;  // of the whole batch, in order
  const float* query = nullptr;
  int stride = 0;
};
using QueryHook = std::function<void(const QueryView&)>;

class Forward {
 public:
  // Reads all weights (a minute-long load can be interrupted by throwing from `progress`, fraction 0..1).
  // Nothing of `file` is needed afterwards. Throws Error{usage} for an isa or a number of threads that cannot
  // be had.
  Forward(const ModelFile& file, const ForwardOptions& options,
          const std::function<void(double)>& progress = {});
  ~Forward();
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  const ModelConfig& config() const noexcept;
  const ForwardOptions& options() const noexcept;
  // Geometry of this model's KV with pages of `page_tokens`.
  page::Geometry geometry(int page_tokens, int chunk_tokens) const noexcept;
  page::Element kv_element() const noexcept;
  std::size_t weight_bytes() const noexcept;

  // Logits of the wanted rows, [sum of logit_rows][vocab], in batch order; valid until the next call.
  std::span<const float> run(std::span<const SequenceRows> batch, const LayerHook& after_layer = {},
                             const QueryHook& before_attention = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Index of the largest value; ties go to the lowest id.
TokenId argmax(std::span<const float> logits) noexcept;

}  // namespace lynxkv::model
