#include "suite/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "suite/sequence_match.hpp"
#include "suite/suite.hpp"
#include "suite/unicode.hpp"

namespace lynxkv::suite {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// RULER turns control characters of a prediction into line breaks before it looks.
std::string readable(const std::string& prediction) {
  std::string text = lower(prediction);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = '\n';
  return text;
}

std::size_t references_found(const std::string& prediction, const std::vector<std::string>& references) {
  const std::string text = readable(prediction);
  return static_cast<std::size_t>(
      std::count_if(references.begin(), references.end(),
                    [&](const std::string& one) { return contains(text, lower(one)); }));
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') ||
         (c >= U'{' && c <= U'~');
}

// Words that count: a word here is a run of \w characters inside a piece between white space, so that "a" in
// "l’a" goes too.
std::vector<std::u32string> counting_words(const std::string& text) {
  std::u32string plain;
  for (const char32_t c : code_points(lower(text)))
    if (!is_ascii_punctuation(c)) plain += c;
  for (std::size_t at = 0; at < plain.size();) {
    std::size_t end = at;
    while (end < plain.size() && is_word(plain[end])) ++end;
    const std::u32string_view word = std::u32string_view(plain).substr(at, end - at);
    if (word == U"a" || word == U"an" || word == U"the")
      std::fill_n(plain.begin() + static_cast<std::ptrdiff_t>(at), word.size(), U' ');
    at = std::max(end, at + 1);
  }
  return split_at_space(plain);
}

std::vector<std::u32string> numbers_in(const std::string& text) {
  std::vector<std::u32string> numbers;
  bool inside = false;
  for (const char32_t c : code_points(text)) {
    const bool digit = is_digit(c);
    if (digit && !inside) numbers.emplace_back();
    if (digit) numbers.back() += c;
    inside = digit;
  }
  return numbers;
}

double share_of(const std::vector<std::u32string>& numbers, const std::u32string& right) {
  if (numbers.empty()) return 0;
  return static_cast<double>(std::count(numbers.begin(), numbers.end(), right)) /
         static_cast<double>(numbers.size());
}

}  // namespace

double contains_all(const std::string& prediction, const std::vector<std::string>& references) {
  if (references.empty()) return 0;
  return static_cast<double>(references_found(prediction, references)) /
         static_cast<double>(references.size());
}

double contains_any(const std::string& prediction, const std::vector<std::string>& references) {
  return references_found(prediction, references) > 0 ? 1 : 0;
}

double qa_f1(const std::string& prediction, const std::string& reference) {
  const auto guessed = counting_words(prediction);
  const auto right = counting_words(reference);
  std::map<std::u32string, int> left;
  for (const auto& word : right) ++left[word];
  double common = 0;
  for (const auto& word : guessed)
    if (const auto found = left.find(word); found != left.end() && found->second-- > 0) common += 1;
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(guessed.size());
  const double recall = common / static_cast<double>(right.size());
  return (2 * precision * recall) / (precision + recall);
}

double classification(const std::string& prediction, const std::string& reference,
                      const std::vector<std::string>& classes) {
  std::vector<std::string> named;
  for (const std::string& one : classes)
    if (contains(prediction, one)) named.push_back(one);
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::string term = named[i];
    if (contains(reference, term) && term != reference)
      named.erase(std::find(named.begin(), named.end(), term));
  }
  if (std::find(named.begin(), named.end(), reference) == named.end()) return 0;
  return 1.0 / static_cast<double>(named.size());
}

double retrieval(const std::string& prediction, const std::string& reference) {
  const std::string marker = "Paragraph ";
  for (std::size_t at = reference.find(marker); at != std::string::npos;
       at = reference.find(marker, at + 1)) {
    std::u32string number;
    for (const char32_t c : code_points(std::string_view(reference).substr(at + marker.size()))) {
      if (!is_digit(c)) break;
      number += c;
    }
    if (!number.empty()) return share_of(numbers_in(prediction), number);
  }
  return 0;
}

double count(const std::string& prediction, const std::string& reference) {
  return share_of(numbers_in(prediction), code_points(reference));
}

double code_similarity(const std::string& prediction, const std::string& reference) {
  std::string code;
  for (std::size_t at = prediction.find_first_not_of('\n'); at < prediction.size();) {
    const std::size_t end = std::min(prediction.find('\n', at), prediction.size());
    const std::string line = prediction.substr(at, end - at);
    if (line.find_first_of("`#") == std::string::npos && !contains(line, "//")) {
      code = line;
      break;
    }
    at = end + 1;
  }
  if (code == reference) return 1;
  if (code.empty() || reference.empty()) return 0;
  // nearbyint in the default mode rounds halves to even, as the reference does.
  return std::nearbyint(100 * sequence_ratio(code_points(code), code_points(reference))) / 100;
}

double score(const Sample& sample, const std::string& prediction) {
  if (sample.metric == Metric::contains_all) return contains_all(prediction, sample.references);
  if (sample.metric == Metric::contains_any) return contains_any(prediction, sample.references);
  double best = 0;
  for (const std::string& reference : sample.references) {
    double one = 0;
    switch (sample.metric) {
      case Metric::contains_all:
      case Metric::contains_any:
        break;
      case Metric::qa_f1:
        one = qa_f1(prediction, reference);
        break;
      case Metric::rouge_l:
        one = rouge_l(prediction, reference);
        break;
      case Metric::classification:
        one = classification(prediction, reference, sample.classes);
        break;
      case Metric::retrieval:
        one = retrieval(prediction, reference);
        break;
      case Metric::count:
        one = count(prediction, reference);
        break;
      case Metric::code_similarity:
        one = code_similarity(prediction, reference);
        break;
    }
    best = std::max(best, one);
  }
  return best;
}

}  // namespace lynxkv::suite
