// Hyperparameters of a GGUF file whose architecture is "llama".
#include <limits>

#include "model/config.hpp"
#include "model/gguf_cursor.hpp"

namespace lynxkv::model {
namespace {

std::string key_of(std::string_view name) {
  return "llama." + std::string(name);
}

std::optional<int> integer(const Gguf& file, std::string_view name) {
  const auto value = file.integer(key_of(name));
  if (!value) return std::nullopt;
  if (*value < 0 || *value > std::numeric_limits<int>::max())
    throw file.error("expected 0 to 2147483647 as '" + key_of(name) + "', found " + std::to_string(*value));
  return static_cast<int>(*value);
}

int required_integer(const Gguf& file, std::string_view name) {
  const auto value = integer(file, name);
  if (!value) throw file.error("expected the metadata '" + key_of(name) + "', found none");
  return *value;
}

// [rows][columns] of a matrix that decides about the config before the weights are bound.
const GgufTensor& embedding_of(const Gguf& file) {
  const GgufTensor* tensor = file.tensor("token_embd.weight");
  if (tensor == nullptr) throw file.error("expected a tensor 'token_embd.weight', found none");
  if (tensor->rows() > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw file.error("expected fewer than 2^31 rows in 'token_embd.weight', found " +
                     std::to_string(tensor->rows()));
  return *tensor;
}

void refuse_what_changes_the_numbers(const Gguf& file) {
  if (integer(file, "expert_count").value_or(0) != 0)
    throw file.error("the model has experts ('llama.expert_count'), which are not supported for this family");
  if (file.find(key_of("attention.sliding_window")) != nullptr)
    throw file.error("the model has a sliding window, which is not supported for this family");
  for (const std::string_view name : {"logit_scale", "embedding_scale", "residual_scale", "attention.scale"})
    if (file.number(key_of(name)).value_or(1) != 1)
      throw file.error("expected no '" + key_of(name) +
                       "' or 1, found another value, which is not supported");
}

RopeConfig read_rope(const Gguf& file, int head_dim) {
  RopeConfig rope;
  rope.theta = static_cast<float>(file.number(key_of("rope.freq_base")).value_or(10000));
  rope.rotary_dim = integer(file, "rope.dimension_count").value_or(head_dim);
  double factor = file.number(key_of("rope.scale_linear")).value_or(1);
  if (const auto type = file.text(key_of("rope.scaling.type")); type && *type != "none") {
    if (*type != "linear")
      throw file.error("expected rope scaling 'none' or 'linear', found " + quoted(*type) +
                       ", which is not supported");
    factor = file.number(key_of("rope.scaling.factor")).value_or(factor);
  }
  if (!(factor >= 1) || !(factor <= 1e6))
    throw file.error("expected a rope factor from 1 to 1e6, found " + std::to_string(factor));
  const GgufTensor* factors = file.tensor("rope_freqs.weight");
  if (factors != nullptr) {
    if (factors->type.type != TensorType::f32 || factors->dimensions.size() != 1 ||
        factors->columns() != static_cast<std::uint64_t>(head_dim / 2))
      throw file.error("expected " + std::to_string(head_dim / 2) +
                       " F32 values in tensor 'rope_freqs.weight'");
    rope.frequency_factors.resize(static_cast<std::size_t>(head_dim / 2));
    dequantize(TensorType::f32, factors->bytes, rope.frequency_factors);
  }
  if (factor != 1) {
    rope.frequency_factors.resize(static_cast<std::size_t>(head_dim / 2), 1.0f);
    for (float& value : rope.frequency_factors) value *= static_cast<float>(factor);
  }
  return rope;
}

}  // namespace

ModelConfig config_from_gguf(const Gguf& file) {
  const auto architecture = file.text("general.architecture");
  if (!architecture) throw file.error("expected the metadata 'general.architecture', found none");
  if (*architecture != "llama")
    throw file.error("expected architecture 'llama', found " + quoted(*architecture) +
                     ", which is not supported");
  refuse_what_changes_the_numbers(file);
  ModelConfig config;
  config.family = "llama";
  config.name = std::string(file.text("general.name").value_or(""));
  config.layers = required_integer(file, "block_count");
  config.hidden = required_integer(file, "embedding_length");
  config.intermediate = required_integer(file, "feed_forward_length");
  config.heads = required_integer(file, "attention.head_count");
  config.kv_heads = integer(file, "attention.head_count_kv").value_or(config.heads);
  config.context_tokens = required_integer(file, "context_length");
  const auto epsilon = file.number(key_of("attention.layer_norm_rms_epsilon"));
  if (!epsilon)
    throw file.error("expected the metadata 'llama.attention.layer_norm_rms_epsilon', found none");
  config.rms_epsilon = static_cast<float>(*epsilon);
  if (const auto length = integer(file, "attention.key_length")) {
    config.head_dim = *length;
  } else {
    if (config.heads < 1 || config.hidden % config.heads != 0)
      throw file.error("expected the embedding length to be a multiple of the head count, found " +
                       std::to_string(config.hidden) + " and " + std::to_string(config.heads));
    config.head_dim = config.hidden / config.heads;
  }
  if (integer(file, "attention.value_length").value_or(config.head_dim) != config.head_dim)
    throw file.error("expected 'llama.attention.value_length' to equal the key length, found another");
  config.vocab = static_cast<int>(embedding_of(file).rows());
  if (const auto vocab = integer(file, "vocab_size"); vocab && *vocab != config.vocab)
    throw file.error("expected " + std::to_string(*vocab) +
                     " rows in 'token_embd.weight' by 'llama.vocab_size', found " +
                     std::to_string(config.vocab));
  config.tied_embeddings = file.tensor("output.weight") == nullptr;
  config.rope.rotary_dim = config.head_dim;
  check_config(config, file.name());  // before head_dim sizes the rope factors
  config.rope = read_rope(file, config.head_dim);
  check_config(config, file.name());
  return config;
}

}  // namespace lynxkv::model
