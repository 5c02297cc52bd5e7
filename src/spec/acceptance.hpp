// How much of a draft stands: the rule of one verification pass.
#pragma once

#include <span>

#include "model/tokenizer.hpp"

namespace lynxkv::spec {

// `draft`: s_1 .. s_t. `chosen`: t+1 tokens, chosen[i] being the target model's own choice behind the prefix
// that ends with s_i (chosen[0]: behind the last committed token).
// Returns how many leading drafts equal the target's choices; chosen[that] is the token to commit behind them.
int accepted_prefix(std::span<const model::TokenId> draft, std::span<const model::TokenId> chosen) noexcept;

}  // namespace lynxkv::spec
