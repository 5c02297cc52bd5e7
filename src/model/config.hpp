// Hyperparameters from a checkpoint's config.json (in both published spellings) or a GGUF file's metadata.
// What would change the numbers and is not computed here is refused, never ignored.
#pragma once

#include <string>
#include <string_view>

#include "model/gguf.hpp"
#include "model/model_file.hpp"

namespace lynxkv::model {

// Both throw Error{bad_data} naming the key, what was expected and what was found.
ModelConfig config_from_json(std::string_view text, const std::string& name);
// `rope.frequency_factors` comes from the tensor "rope_freqs.weight" where the file has it.
ModelConfig config_from_gguf(const Gguf& file);

// Values in range and consistent with one another. `where` is for the message.
void check_config(const ModelConfig& config, const std::string& where);

// Long-context scaling that stretches slow rotations by `factor` and leaves fast ones: those of a wavelength
// above original/low_frequency tokens are divided by factor, those below original/high_frequency are kept,
// and between the two the frequency is interpolated. The factors by which the rotary_dim/2 frequencies are
// divided.
struct Llama3Scaling {
  double factor, low_frequency, high_frequency, original_tokens;
};
std::vector<float> llama3_factors(double theta, int rotary_dim, const Llama3Scaling& scaling);

}  // namespace lynxkv::model
