#include <algorithm>
#include <set>

#include "suite/builtin_text.hpp"
#include "suite/generate.hpp"
#include "suite/haystack.hpp"

namespace lynxkv::suite {
namespace {

std::string new_variable(Random& random, std::set<std::string>& taken) {
  for (;;) {
    std::string name;
    for (int i = 0; i < 5; ++i) name += static_cast<char>('A' + random.below(26));
    if (taken.insert(name).second) return name;
  }
}

struct Chain {
  std::string value;
  std::vector<std::string> variables;
  std::vector<std::string> lines;  // in the order in which they must come
};

Chain make_chain(int hops, Random& random, std::set<std::string>& taken) {
  Chain chain;
  do {
    chain.value = std::to_string(10000 + random.below(90000));
  } while (!taken.insert(chain.value).second);
  for (int i = 0; i <= hops; ++i) {
    chain.variables.push_back(new_variable(random, taken));
    chain.lines.push_back("VAR " + chain.variables.back() + " = " +
                          (i == 0 ? chain.value : "VAR " + chain.variables[static_cast<std::size_t>(i) - 1]) +
                          ".");
  }
  return chain;
}

// The lines of all chains, shuffled together, each chain's own in order.
std::vector<std::string> interleave(const std::vector<Chain>& chains, Random& random) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < chains.size(); ++c) order.insert(order.end(), chains[c].lines.size(), c);
  random.shuffle(order);
  std::vector<std::size_t> next(chains.size());
  std::vector<std::string> lines;
  for (const std::size_t c : order) lines.push_back(chains[c].lines[next[c]++]);
  return lines;
}

}  // namespace

Sample make_tracking(const TrackingTask& task, Recipe recipe) {
  Random& random = recipe.random;
  std::set<std::string> taken;
  std::vector<Chain> chains;
  for (int c = 0; c < task.chains; ++c) chains.push_back(make_chain(task.hops, random, taken));
  const auto lines = interleave(chains, random);
  std::vector<double> depths(lines.size());
  for (double& depth : depths) depth = random.unit();
  std::sort(depths.begin(), depths.end());
  const auto first = static_cast<std::size_t>(random.below(dull_sentences().size()));
  const Chain& asked = chains.front();
  const auto prompt = [&](int count) {
    return "Variables are assigned in this text. Keep track of them.\n\n" +
           lay_out(dull_sentences(), first, count, depths, lines) + "\n\nWhich variables hold the value " +
           asked.value + " in the text above, directly or through other variables?";
  };
  Sample sample;
  sample.references = asked.variables;
  // Ending in VAR makes small models go on with names in a row instead of copying assignments.
  sample.answer_prefix = "The " + std::to_string(asked.variables.size()) + " variables that hold the value " +
                         asked.value + " are: VAR";
  const int count = fill_to_length([&](int n) { return prompt(n) + sample.answer_prefix; }, recipe.length,
                                   *recipe.count_tokens, *recipe.guess);
  if (count < 0)
    refuse_length(recipe.task, recipe.length, (*recipe.count_tokens)(prompt(0) + sample.answer_prefix));
  sample.prompt = prompt(count);
  sample.metric = Metric::contains_all;
  sample.max_tokens = 30;
  return sample;
}

}  // namespace lynxkv::suite
