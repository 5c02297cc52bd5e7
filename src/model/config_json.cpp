// config.json of the llama family. Two spellings are in use: rope_theta beside rope_scaling, and both inside
// rope_parameters.
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "model/config.hpp"
#include "model/json_input.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;

// The fields of one object. A key that is absent and one that is null mean the same: the default.
class Fields {
 public:
  Fields(const json& object, const std::string& file, std::string prefix = "")
      : object_(object), file_(file), prefix_(std::move(prefix)) {
    if (!object.is_object())
      throw error("expected an object" + (prefix_.empty() ? "" : " as " + prefix_) + ", found " +
                  kind_of(object));
  }

  Error error(const std::string& what) const { return Error(ErrorCode::bad_data, file_, what); }

  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<int> integer(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) throw wrong(key, "an integer", *value);
    if (value->is_number_unsigned() ? value->get<std::uint64_t>() > std::numeric_limits<int>::max()
                                    : value->get<std::int64_t>() < std::numeric_limits<int>::min())
      throw wrong(key, "an integer below 2^31", *value);
    return value->get<int>();
  }
  int required_integer(const char* key) const {
    const auto value = integer(key);
    if (!value) throw error("expected an integer as " + prefix_ + key + ", found none");
    return *value;
  }
  std::optional<double> number(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) throw wrong(key, "a number", *value);
    return value->get<double>();
  }
  double required_number(const char* key) const {
    const auto value = number(key);
    if (!value) throw error("expected a number as " + prefix_ + key + ", found none");
    return *value;
  }
  std::optional<bool> boolean(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) throw wrong(key, "true or false", *value);
    return value->get<bool>();
  }
  std::optional<std::string> text(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) throw wrong(key, "a string", *value);
    return value->get<std::string>().substr(0, 200);
  }
  std::optional<Fields> object(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object()) throw wrong(key, "an object", *value);
    return Fields(*value, file_, prefix_ + key + ".");
  }

 private:
  Error wrong(const char* key, const char* expected, const json& found) const {
    return error(std::string("expected ") + expected + " as " + prefix_ + key + ", found " + kind_of(found));
  }

  const json& object_;
  const std::string& file_;
  std::string prefix_;
};

void refuse_what_changes_the_numbers(const Fields& config) {
  if (const auto act = config.text("hidden_act"); act && *act != "silu")
    throw config.error("expected hidden_act 'silu', found '" + *act + "', which is not supported");
  for (const char* key : {"attention_bias", "mlp_bias"})
    if (config.boolean(key).value_or(false))
      throw config.error(std::string(key) + " is true; biases are not supported for this family");
  if (config.number("partial_rotary_factor").value_or(1) != 1)
    throw config.error("partial_rotary_factor is not 1; partial rotation is not supported for this family");
  if (config.find("quantization_config") != nullptr)
    throw config.error(
        "the checkpoint is quantised (quantization_config); use an F32, F16 or BF16 one, or a GGUF");
}

RopeConfig read_rope(const Fields& config, int head_dim) {
  RopeConfig rope;
  rope.rotary_dim = head_dim;
  const auto parameters = config.object("rope_parameters");
  const auto scaling = parameters ? parameters : config.object("rope_scaling");
  double theta = config.number("rope_theta").value_or(10000);
  if (parameters) theta = parameters->number("rope_theta").value_or(theta);
  rope.theta = static_cast<float>(theta);
  if (!scaling) return rope;
  if (scaling->number("partial_rotary_factor").value_or(1) != 1)
    throw config.error("partial_rotary_factor is not 1; partial rotation is not supported for this family");
  auto type = scaling->text("rope_type");
  if (!type) type = scaling->text("type");
  if (!type || *type == "default") return rope;
  if (*type != "linear" && *type != "llama3")
    throw config.error("expected rope type 'default', 'linear' or 'llama3', found '" + *type +
                       "', which is not supported");
  const double factor = scaling->required_number("factor");
  if (!(factor >= 1) || !(factor <= 1e6))
    throw config.error("expected a rope factor from 1 to 1e6, found " + std::to_string(factor));
  if (*type == "linear") {
    rope.frequency_factors.assign(static_cast<std::size_t>(head_dim / 2), static_cast<float>(factor));
    return rope;
  }
  const Llama3Scaling llama3{factor, scaling->required_number("low_freq_factor"),
                             scaling->required_number("high_freq_factor"),
                             scaling->required_number("original_max_position_embeddings")};
  if (!(llama3.low_frequency > 0) || !(llama3.high_frequency > llama3.low_frequency) ||
      !(llama3.original_tokens >= 1))
    throw config.error(
        "expected 0 < low_freq_factor < high_freq_factor and original_max_position_embeddings >= 1 for rope "
        "type 'llama3'");
  rope.frequency_factors = llama3_factors(theta, head_dim, llama3);
  return rope;
}

}  // namespace

ModelConfig config_from_json(std::string_view text, const std::string& name) {
  const json parsed = parse_json(text, name, "a model's config");
  const Fields fields(parsed, name);
  const auto type = fields.text("model_type");
  if (!type) throw fields.error("expected a string as model_type, found none");
  if (*type != "llama")
    throw fields.error("expected model_type 'llama', found '" + *type + "', which is not supported");
  refuse_what_changes_the_numbers(fields);
  ModelConfig config;
  config.family = "llama";
  config.name = fields.text("_name_or_path").value_or("");
  config.layers = fields.required_integer("num_hidden_layers");
  config.hidden = fields.required_integer("hidden_size");
  config.intermediate = fields.required_integer("intermediate_size");
  config.heads = fields.required_integer("num_attention_heads");
  config.kv_heads = fields.integer("num_key_value_heads").value_or(config.heads);
  config.vocab = fields.required_integer("vocab_size");
  config.context_tokens = fields.integer("max_position_embeddings").value_or(2048);
  config.rms_epsilon = static_cast<float>(fields.number("rms_norm_eps").value_or(1e-6));
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(false);
  if (const auto head_dim = fields.integer("head_dim")) {
    config.head_dim = *head_dim;
  } else {
    if (config.heads < 1 || config.hidden % config.heads != 0)
      throw fields.error(
          "without head_dim, expected hidden_size to be a multiple of num_attention_heads; found " +
          std::to_string(config.hidden) + " and " + std::to_string(config.heads));
    config.head_dim = config.hidden / config.heads;
  }
  config.rope.rotary_dim = config.head_dim;
  check_config(config, name);  // before head_dim sizes the rope factors
  config.rope = read_rope(fields, config.head_dim);
  check_config(config, name);
  return config;
}

}  // namespace lynxkv::model
