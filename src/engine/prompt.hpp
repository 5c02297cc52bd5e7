// From a sample to the token ids that the model reads: chat template, BOS, truncation policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer.hpp"
#include "suite/sample.hpp"

namespace lynxkv::engine {

struct Prompt {
  std::vector<model::TokenId> ids;    // at least one
  std::int64_t truncated_tokens = 0;  // cut from the sample's text by the policy
};

// Text of the whole prompt as the model sees it.
std::string render_prompt(const suite::Sample& sample, const std::string& text, const model::ModelFile& model,
                          const SuiteSection& options);

// Throws Error{bad_data} where prompt and answer do not fit the model's context and the policy is `error`:
// nothing is ever shortened silently.
Prompt build_prompt(const suite::Sample& sample, const model::ModelFile& model, const SuiteSection& options);

}  // namespace lynxkv::engine
