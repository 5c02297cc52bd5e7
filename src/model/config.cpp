#include "model/config.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "base/error.hpp"

namespace lynxkv::model {
namespace {

// Above every model that exists; products of two of them, times four bytes, stay far inside 64 bits.
constexpr int most_layers = 4096;
constexpr int most_width = 1 << 20;
constexpr int most_vocabulary = 1 << 24;

}  // namespace

std::vector<float> llama3_factors(double theta, int rotary_dim, const Llama3Scaling& scaling) {
  std::vector<float> factors;
  for (int i = 0; i < rotary_dim / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * i / rotary_dim);
    const double wavelength = 2 * std::numbers::pi / frequency;
    double divided_by = 1;
    if (wavelength > scaling.original_tokens / scaling.low_frequency) {
      divided_by = scaling.factor;
    } else if (wavelength >= scaling.original_tokens / scaling.high_frequency) {
      const double smooth = (scaling.original_tokens / wavelength - scaling.low_frequency) /
                            (scaling.high_frequency - scaling.low_frequency);
      divided_by = 1 / ((1 - smooth) / scaling.factor + smooth);
    }
    factors.push_back(static_cast<float>(divided_by));
  }
  return factors;
}

void check_config(const ModelConfig& config, const std::string& where) {
  const auto fail = [&](const std::string& what) { throw Error(ErrorCode::bad_data, where, what); };
  const auto in_range = [&](const char* what, int value, int least, int most) {
    if (value < least || value > most)
      fail("expected " + std::to_string(least) + " to " + std::to_string(most) + " as " + what + ", found " +
           std::to_string(value));
  };
  in_range("the number of layers", config.layers, 1, most_layers);
  in_range("the hidden size", config.hidden, 2, most_width);
  in_range("the intermediate size", config.intermediate, 2, most_width);
  in_range("the number of attention heads", config.heads, 1, 1 << 14);
  in_range("the number of KV heads", config.kv_heads, 1, config.heads);
  in_range("the head dimension", config.head_dim, 2, 1 << 12);
  in_range("the vocabulary size", config.vocab, 1, most_vocabulary);
  in_range("the context length", config.context_tokens, 1, std::numeric_limits<int>::max());
  if (config.heads * config.head_dim > most_width)
    fail("expected heads times head dimension up to " + std::to_string(most_width) + ", found " +
         std::to_string(config.heads) + " x " + std::to_string(config.head_dim));
  if (config.heads % config.kv_heads != 0)
    fail("expected a multiple of the " + std::to_string(config.kv_heads) +
         " KV heads as attention heads, found " + std::to_string(config.heads));
  if (config.head_dim % 2 != 0)
    fail("expected an even head dimension, found " + std::to_string(config.head_dim));
  if (!(config.rms_epsilon > 0) || !(config.rms_epsilon < 1))
    fail("expected a number between 0 and 1 as RMS norm epsilon, found " +
         std::to_string(config.rms_epsilon));
  if (!(config.rope.theta >= 1) || !std::isfinite(config.rope.theta))
    fail("expected a number of at least 1 as rope theta, found " + std::to_string(config.rope.theta));
  if (config.rope.rotary_dim != config.head_dim)
    fail("expected all " + std::to_string(config.head_dim) + " channels of a head to rotate, found " +
         std::to_string(config.rope.rotary_dim) + "; partial rotation is not supported for this family");
  if (!config.rope.frequency_factors.empty() &&
      config.rope.frequency_factors.size() != static_cast<std::size_t>(config.rope.rotary_dim / 2))
    fail("expected " + std::to_string(config.rope.rotary_dim / 2) + " rope frequency factors, found " +
         std::to_string(config.rope.frequency_factors.size()));
  for (const float factor : config.rope.frequency_factors)
    if (!(factor > 0) || !std::isfinite(factor))
      fail("expected rope frequency factors above 0, found " + std::to_string(factor));
}

}  // namespace lynxkv::model
