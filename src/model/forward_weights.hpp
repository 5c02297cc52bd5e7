// The weights of a forward pass, packed for its kernels. Each is held once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/matmul.hpp"
#include "model/model_file.hpp"

namespace lynxkv::model {

struct LayerWeights {
  std::vector<float> attention_norm;  // [hidden]
  kernels::Matmul query_key_value;    // [(heads + 2 kv_heads) * head_dim][hidden]: Q rows, then K, then V
  kernels::Matmul output;             // [hidden][heads * head_dim]
  std::vector<float> mlp_norm;        // [hidden]
  kernels::Matmul gate_up;            // [2 * intermediate][hidden]: gate rows, then up
  kernels::Matmul down;               // [hidden][intermediate]
};

struct ForwardWeights {
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;           // [hidden]
  std::optional<kernels::Matmul> lm_head;  // [vocab][hidden]; the embedding too where the two are tied
  std::vector<std::byte> embedding;        // [vocab][hidden] of the element; empty where tied

  std::size_t bytes() const noexcept;
  // Row `token` of the embedding, as floats.
  void embed(const ModelConfig& config, kernels::Element element, int token, float* out) const;
};

// Reads, rounds and packs all weights, on all threads of the runtime. What `progress` throws passes through.
ForwardWeights load_weights(const ModelFile& file, kernels::Element element,
                            const std::function<void(double)>& progress);

}  // namespace lynxkv::model
