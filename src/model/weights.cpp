#include "model/weights.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "base/check.hpp"
#include "base/error.hpp"

namespace lynxkv::model {
namespace {

constexpr std::array weights_in_order = {Weight::embedding, Weight::attention_norm, Weight::query,
                                         Weight::key,       Weight::value,          Weight::output,
                                         Weight::mlp_norm,  Weight::gate,           Weight::up,
                                         Weight::down,      Weight::final_norm,     Weight::lm_head};

std::string text_of(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

bool all_finite(const float* values, std::size_t count) noexcept {
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i)
    finite &= (std::bit_cast<std::uint32_t>(values[i]) & 0x7f800000u) != 0x7f800000u;
  return finite;
}

class MappedWeights final : public WeightSource {
 public:
  MappedWeights(const ModelConfig& config, std::vector<MappedFile> files, bool pairs)
      : config_(config), files_(std::move(files)), pairs_side_by_side_(pairs) {
    for (auto& layers : table_) layers.resize(static_cast<std::size_t>(config.layers));
  }

  void put(Weight weight, int layer, StoredTensor tensor) {
    table_[static_cast<std::size_t>(weight)][slot(weight, layer)] = std::move(tensor);
  }

  void read_rows(Weight weight, int layer, int first_row, int rows, float* out) const override {
    const WeightShape shape = shape_of(config_, weight);
    LYNXKV_CHECK(first_row >= 0 && rows >= 0 && first_row <= shape.rows && rows <= shape.rows - first_row);
    LYNXKV_CHECK(!is_per_layer(weight) || (layer >= 0 && layer < config_.layers));
    const StoredTensor& tensor = table_[static_cast<std::size_t>(weight)][slot(weight, layer)];
    LYNXKV_CHECK(!tensor.bytes.empty());  // lm_head of tied embeddings was asked for
    const auto columns = static_cast<std::size_t>(shape.columns);
    const auto row_bytes = tensor.bytes.size() / static_cast<std::size_t>(shape.rows);
    const bool permuted = pairs_side_by_side_ && (weight == Weight::query || weight == Weight::key);
    if (!permuted) {
      dequantize(*tensor.type,
                 tensor.bytes.subspan(static_cast<std::size_t>(first_row) * row_bytes,
                                      static_cast<std::size_t>(rows) * row_bytes),
                 std::span(out, static_cast<std::size_t>(rows) * columns));
    } else {
      for (int r = 0; r < rows; ++r)
        dequantize(*tensor.type, tensor.bytes.subspan(stored_row(first_row + r) * row_bytes, row_bytes),
                   std::span(out + static_cast<std::size_t>(r) * columns, columns));
    }
    if (!all_finite(out, static_cast<std::size_t>(rows) * columns))
      throw Error(ErrorCode::bad_data, tensor.file,
                  "tensor '" + tensor.name + "' holds a value that is not finite in rows " +
                      std::to_string(first_row) + " to " + std::to_string(first_row + rows - 1) +
                      "; the file is damaged");
  }

 private:
  static std::size_t slot(Weight weight, int layer) noexcept {
    return static_cast<std::size_t>(is_per_layer(weight) ? layer : 0);
  }
  // Row h d + j d/2 + i of a checkpoint (half j of head h) is row h d + 2 i + j of such a file.
  std::size_t stored_row(int row) const noexcept {
    const int d = config_.head_dim;
    const int in_head = row % d;
    return static_cast<std::size_t>(row - in_head + in_head % (d / 2) * 2 + in_head / (d / 2));
  }

  ModelConfig config_;
  std::vector<MappedFile> files_;
  bool pairs_side_by_side_;
  std::array<std::vector<StoredTensor>, weights_in_order.size()> table_;
};

// A tensor's bytes follow from its type and shape; the formats' readers have checked that.
void check_tensor(const StoredTensor& tensor, WeightShape shape) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::bad_data, tensor.file, "tensor '" + tensor.name + "': " + what);
  };
  std::vector<std::uint64_t> expected = {static_cast<std::uint64_t>(shape.rows)};
  if (shape.columns != 1) expected.push_back(static_cast<std::uint64_t>(shape.columns));
  if (tensor.shape != expected)
    fail("expected shape " + text_of(expected) + " by the model's config, found " + text_of(tensor.shape));
  if (!tensor.type || !info_of(*tensor.type).readable)
    fail("type " + tensor.type_name +
         " is not supported; F32, F16, BF16 and, in GGUF, Q4_0 to Q8_0 and Q2_K to Q6_K are");
  const TensorTypeInfo& info = info_of(*tensor.type);
  if (shape.columns == 1 && info.block_values != 1)
    fail("expected F32, F16 or BF16 for a vector, found " + tensor.type_name);
  const std::uint64_t values =
      static_cast<std::uint64_t>(shape.rows) * static_cast<std::uint64_t>(shape.columns);
  LYNXKV_CHECK(tensor.bytes.size() == values / info.block_values * info.block_bytes);
}

}  // namespace

bool is_per_layer(Weight weight) noexcept {
  return weight != Weight::embedding && weight != Weight::final_norm && weight != Weight::lm_head;
}

std::span<const Weight> all_weights() noexcept {
  return weights_in_order;
}

WeightShape shape_of(const ModelConfig& config, Weight weight) noexcept {
  switch (weight) {
    case Weight::embedding:
    case Weight::lm_head:
      return {config.vocab, config.hidden};
    case Weight::query:
      return {config.heads * config.head_dim, config.hidden};
    case Weight::key:
    case Weight::value:
      return {config.kv_heads * config.head_dim, config.hidden};
    case Weight::output:
      return {config.hidden, config.heads * config.head_dim};
    case Weight::gate:
    case Weight::up:
      return {config.intermediate, config.hidden};
    case Weight::down:
      return {config.hidden, config.intermediate};
    case Weight::attention_norm:
    case Weight::mlp_norm:
    case Weight::final_norm:
      return {config.hidden, 1};
  }
  return {0, 0};
}

std::unique_ptr<WeightSource> bind_weights(const ModelConfig& config, const std::string& where,
                                           std::vector<MappedFile> files, std::vector<StoredTensor> tensors,
                                           const WeightNaming& naming) {
  std::unordered_map<std::string, StoredTensor*> by_name;
  for (StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  auto source = std::make_unique<MappedWeights>(config, std::move(files), naming.rotary_pairs_side_by_side);
  for (const Weight weight : all_weights()) {
    if (weight == Weight::lm_head && config.tied_embeddings) {
      // Some files repeat the embedding there; the config says that it is one.
      by_name.erase(naming.name(weight, 0));
      continue;
    }
    for (int layer = 0; layer < (is_per_layer(weight) ? config.layers : 1); ++layer) {
      const std::string name = naming.name(weight, layer);
      const auto found = by_name.find(name);
      if (found == by_name.end())
        throw Error(
            ErrorCode::bad_data, where,
            "expected a tensor '" + name + "', found none; the model is incomplete or of another family");
      check_tensor(*found->second, shape_of(config, weight));
      source->put(weight, layer, std::move(*found->second));
      by_name.erase(found);
    }
  }
  std::string unknown;  // the first by name, so that the message does not change from run to run
  for (const auto& [name, tensor] : by_name)
    if (!naming.ignored(name) && (unknown.empty() || name < unknown)) unknown = name;
  if (!unknown.empty())
    throw Error(ErrorCode::bad_data, where,
                "tensor '" + unknown.substr(0, 100) + "' is not one that the " + config.family +
                    " family has as we compute it; the result would be wrong without it");
  return source;
}

}  // namespace lynxkv::model
