// Binds a file's tensors to the model's weights: every one present, of the right shape and readable, and no
// tensor left over that the family would need (a bias, an expert) and we would silently ignore.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/dequant.hpp"
#include "model/mapped_file.hpp"
#include "model/model_file.hpp"

namespace lynxkv::model {

// A tensor as a file has it.
struct StoredTensor {
  std::string name;
  std::string file;  // for messages
  std::string type_name;
  std::optional<TensorType> type;    // nothing: not one that we read
  std::vector<std::uint64_t> shape;  // outermost first: [rows][columns], or [rows] for vectors
  std::span<const std::byte> bytes;
};

// How a format names the weights of the llama family, and how it orders the rows of Q and K.
struct WeightNaming {
  std::string (*name)(Weight weight, int layer);
  // Whether this tensor is known to carry nothing that the forward pass needs.
  bool (*ignored)(const std::string& name);
  // Rows of each Q and K head lie as rotary pairs side by side (0, d/2, 1, d/2 + 1, ...), as in GGUF `llama`.
  bool rotary_pairs_side_by_side;
};

// Whether the weight exists once per layer.
bool is_per_layer(Weight weight) noexcept;
// All weights that a model of this config has, in file order of a layer.
std::span<const Weight> all_weights() noexcept;

// `files` are kept mapped as long as the source lives. `where` names the model in messages.
// Throws Error{bad_data}.
std::unique_ptr<WeightSource> bind_weights(const ModelConfig& config, const std::string& where,
                                           std::vector<MappedFile> files, std::vector<StoredTensor> tensors,
                                           const WeightNaming& naming);

}  // namespace lynxkv::model
