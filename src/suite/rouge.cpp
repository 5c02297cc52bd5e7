// ROUGE-L as package `rouge` 1.0.1 computes it.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "suite/metrics.hpp"
#include "suite/unicode.hpp"

namespace lynxkv::suite {
namespace {

using Word = std::u32string;
using Sentence = std::vector<Word>;

// Sentences end at "."; empty pieces are no sentences, but pieces of white space are, with one empty word.
std::vector<Sentence> sentences_of(const std::string& text) {
  std::vector<Sentence> sentences;
  const std::u32string points = code_points(text);
  for (std::size_t at = 0; at <= points.size();) {
    const std::size_t end = std::min(points.find(U'.', at), points.size());
    if (end > at) {
      sentences.push_back(split_at_space(std::u32string_view(points).substr(at, end - at)));
      if (sentences.back().empty()) sentences.back().emplace_back();
    }
    at = end + 1;
  }
  return sentences;
}

std::set<Word> words_of(const std::vector<Sentence>& sentences) {
  std::set<Word> words;
  for (const Sentence& sentence : sentences) words.insert(sentence.begin(), sentence.end());
  return words;
}

// Adds the words of one longest common subsequence of x and y; which one, where there are several, is the
// reference's choice.
void add_common_subsequence(const Sentence& x, const Sentence& y, std::set<Word>& words) {
  const std::size_t width = y.size() + 1;
  std::vector<std::uint32_t> table((x.size() + 1) * width);
  for (std::size_t i = 1; i <= x.size(); ++i)
    for (std::size_t j = 1; j <= y.size(); ++j)
      table[i * width + j] = x[i - 1] == y[j - 1]
                                 ? table[(i - 1) * width + j - 1] + 1
                                 : std::max(table[(i - 1) * width + j], table[i * width + j - 1]);
  for (std::size_t i = x.size(), j = y.size(); i > 0 && j > 0;) {
    if (x[i - 1] == y[j - 1]) {
      words.insert(x[i - 1]);
      --i, --j;
    } else if (table[(i - 1) * width + j] > table[i * width + j - 1]) {
      --i;
    } else {
      --j;
    }
  }
}

}  // namespace

double rouge_l(const std::string& prediction, const std::string& reference) {
  const auto guessed = sentences_of(prediction);
  const auto right = sentences_of(reference);
  if (guessed.empty() || right.empty()) return 0;
  std::set<Word> common;
  for (const Sentence& x : right)
    for (const Sentence& y : guessed) add_common_subsequence(x, y, common);
  const auto count = static_cast<double>(common.size());
  const double recall = count / static_cast<double>(words_of(right).size());
  const double precision = count / static_cast<double>(words_of(guessed).size());
  return 2.0 * ((precision * recall) / (precision + recall + 1e-8));
}

}  // namespace lynxkv::suite
