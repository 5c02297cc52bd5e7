// A model of a few tokens that is a pure function of the prefix, and a run of the state machine over it.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "spec/speculator.hpp"

namespace lynxkv::spec::testing {

using Prefix = std::vector<TokenId>;
using Choice = std::function<TokenId(const Prefix&)>;

// Deterministic in the whole prefix: any wrong token in it shows in what follows.
inline Choice hashed_model(int vocabulary, std::uint64_t salt) {
  return [=](const Prefix& prefix) {
    std::uint64_t h = salt * 0x9e3779b97f4a7c15u + 1;
    for (const TokenId token : prefix) h = (h ^ static_cast<std::uint64_t>(token + 1)) * 0x100000001b3u;
    return static_cast<TokenId>((h >> 33) % static_cast<std::uint64_t>(vocabulary));
  };
}

// KV as a list of tokens by position: row p holds the token whose K and V were written there.
struct FakeKv {
  Prefix tokens;
};

struct Outcome {
  Speculator speculator;
  FakeKv kv;
  int steps = 0;
  int longest_step = 0;
};

// Runs to the end. `fidelity_at(step)`: what the pages hold before that step (-1 counts as waiting: the run
// goes on at the next step). The draft model answers while the fidelity is draft.
inline Outcome run(SpeculatorOptions options, const Prefix& prompt, const Choice& target, const Choice& draft,
                   const std::function<Fidelity(int)>& fidelity_at) {
  options.prompt_tokens = static_cast<int>(prompt.size());
  options.last_prompt_token = prompt.back();
  Outcome out{Speculator(options), {Prefix(prompt.begin(), prompt.end() - 1)}, 0, 0};
  for (int tick = 0; !out.speculator.done() && tick < 10000; ++tick) {
    const Fidelity fidelity = fidelity_at(tick);
    if (!out.speculator.ready(fidelity)) continue;
    const Step step = out.speculator.next(fidelity);
    out.kv.tokens.resize(static_cast<std::size_t>(step.first_position));
    std::vector<TokenId> chosen;
    for (std::size_t i = 0; i < step.tokens.size(); ++i) {
      out.kv.tokens.push_back(step.tokens[i]);
      if (static_cast<int>(step.tokens.size() - i) <= step.logit_rows)
        chosen.push_back((fidelity == Fidelity::target ? target : draft)(out.kv.tokens));
    }
    out.longest_step = std::max(out.longest_step, static_cast<int>(step.tokens.size()));
    ++out.steps;
    out.speculator.apply(chosen, 1000 + tick);
    if (out.speculator.done() || fidelity == Fidelity::target)
      out.kv.tokens.resize(static_cast<std::size_t>(out.speculator.kv_length()));
  }
  return out;
}

}  // namespace lynxkv::spec::testing
