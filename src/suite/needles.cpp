#include <algorithm>
#include <set>

#include "suite/builtin_text.hpp"
#include "suite/generate.hpp"
#include "suite/haystack.hpp"

namespace lynxkv::suite {
namespace {

std::string new_key(Random& random, std::set<std::string>& taken) {
  for (;;) {
    std::string key = random.pick(adjectives()) + " " + random.pick(nouns());
    if (taken.insert(key).second) return key;
  }
}

std::string new_value(Random& random, int digits, std::set<std::string>& taken) {
  for (;;) {
    std::string value(1, static_cast<char>('1' + random.below(9)));
    while (static_cast<int>(value.size()) < digits) value += static_cast<char>('0' + random.below(10));
    if (taken.insert(value).second) return value;
  }
}

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

}  // namespace

Sample make_needles(const NeedleTask& task, Recipe recipe) {
  Random& random = recipe.random;
  std::set<std::string> taken;
  std::vector<std::string> asked, needles;
  Sample sample;
  for (int k = 0; k < task.keys; ++k) {
    const std::string key = new_key(random, taken);
    if (k < task.keys_asked) asked.push_back(key);
    for (int v = 0; v < task.values_per_key; ++v) {
      const std::string value = new_value(random, task.digits, taken);
      needles.push_back("The special magic number for the " + key + " is: " + value + ".");
      if (k < task.keys_asked) sample.references.push_back(value);
    }
  }
  random.shuffle(needles);
  std::vector<double> depths(needles.size());
  for (double& depth : depths) depth = random.unit();
  std::sort(depths.begin(), depths.end());

  const auto& pieces = task.dull_haystack ? dull_sentences() : *recipe.text_pieces;
  const auto first = static_cast<std::size_t>(random.below(pieces.size()));
  const std::string keys = "the " + listed(asked);
  const bool one = sample.references.size() == 1;
  const std::string numbers = one ? "special magic number" : "special magic numbers";
  const std::string is = one ? " is" : " are";
  const auto prompt = [&](int count) {
    return (one ? "A special magic number is" : "Special magic numbers are") +
           std::string(" hidden in this text. Remember ") + (one ? "it.\n\n" : "them.\n\n") +
           lay_out(pieces, first, count, depths, needles) + "\n\nWhat" + is + " the " + numbers + " for " +
           keys + " in the text above?";
  };
  sample.answer_prefix = "The " + (one ? "" : std::to_string(sample.references.size()) + " ") + numbers +
                         " for " + keys + is + ":";
  const int count = fill_to_length([&](int n) { return prompt(n) + sample.answer_prefix; }, recipe.length,
                                   *recipe.count_tokens, *recipe.guess);
  if (count < 0)
    refuse_length(recipe.task, recipe.length, (*recipe.count_tokens)(prompt(0) + sample.answer_prefix));
  sample.prompt = prompt(count);
  sample.metric = Metric::contains_all;
  sample.max_tokens = 128;
  return sample;
}

}  // namespace lynxkv::suite
