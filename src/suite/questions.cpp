#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "suite/builtin_text.hpp"
#include "suite/generate.hpp"
#include "suite/haystack.hpp"
#include "suite/json_lines.hpp"
#include "suite/unicode.hpp"

namespace lynxkv::suite {
namespace {

std::vector<Question> questions_of(const SuiteOptions& options) {
  if (options.file.empty()) return valley_questions();
  std::vector<Question> questions;
  read_json_lines(options.file, [&](const nlohmann::json& object, const std::string& where) {
    questions.push_back({text_field(object, "question", where), texts_field(object, "answers", where)});
  });
  return questions;
}

// Pieces that mention an answer; a cut of the text must keep one of them.
std::vector<std::size_t> pieces_with_answer(const std::vector<std::string>& lowered,
                                            const Question& question) {
  std::vector<std::size_t> found;
  for (const std::string& answer : question.answers) {
    const std::string wanted = lower(answer);
    for (std::size_t i = 0; i < lowered.size(); ++i)
      if (lowered[i].find(wanted) != std::string::npos) found.push_back(i);
    if (!found.empty()) return found;
  }
  return found;
}

std::string prompt_text(const std::vector<std::string>& pieces, std::size_t first, int count,
                        const Question& question) {
  return "Read this text.\n\n" + lay_out(pieces, first, count, {}, {}) +
         "\n\nAnswer with a few words from the text above. " + question.question;
}

}  // namespace

std::vector<Sample> read_questions(const SuiteOptions& options, int length,
                                   const TokenCounter& count_tokens) {
  const std::string text = read_text(options);
  const auto pieces = sentences_of(text);
  if (pieces.empty()) throw Error(ErrorCode::bad_data, options.text, "holds no text");
  std::vector<std::string> lowered;
  for (const std::string& piece : pieces) lowered.push_back(lower(piece));
  const auto questions = questions_of(options);
  const std::uint64_t text_hash = hash64(text);
  const std::uint64_t data_hash =
      options.file.empty() ? hash64("questions of the valley, 1") : hash_file(options.file);
  const auto samples = options.samples > 0
                           ? std::min(static_cast<std::size_t>(options.samples), questions.size())
                           : questions.size();
  const std::string answer_prefix = "Answer:";
  std::vector<Sample> made;
  int guess = 0;
  for (std::size_t line = 0; line < samples; ++line) {
    const Question& question = questions[line];
    const auto measured = [&](int n) { return prompt_text(pieces, 0, n, question) + answer_prefix; };
    const int whole = static_cast<int>(pieces.size());
    int count = length == 0 ? whole : fill_to_length(measured, length, count_tokens, guess);
    if (count <= 0 && length > 0) refuse_length("qa", length, count_tokens(measured(1)));
    std::size_t first = 0;
    if (count < whole) {
      // A window of the text, somewhere around a place that holds the answer where there is one.
      Random random(hash64("qa " + std::to_string(length) + " " + std::to_string(line) + " " +
                           std::to_string(options.seed)));
      const auto places = pieces_with_answer(lowered, question);
      const auto at = places.empty() ? 0 : static_cast<int>(random.pick(places));
      const int earliest = std::max(0, at - count + 1), latest = std::min(at, whole - count);
      first = static_cast<std::size_t>(
          earliest + static_cast<int>(random.below(static_cast<std::uint64_t>(latest - earliest + 1))));
      // Elsewhere sentences may be longer; the answer's own is kept, so the end is what goes.
      while (count > 1 &&
             count_tokens(prompt_text(pieces, first, count, question) + answer_prefix) > length) {
        --count;
        if (static_cast<int>(first) + count <= at) ++first;
      }
    }
    Sample sample;
    sample.suite = "qa";
    sample.task = "qa";
    sample.file_hash =
        data_hash ^ (text_hash * 0x9e3779b97f4a7c15u) ^ hash64("qa 1 " + std::to_string(options.seed));
    sample.line = static_cast<std::int64_t>(line);
    sample.length = length;
    sample.prompt = prompt_text(pieces, first, count, question);
    sample.answer_prefix = answer_prefix;
    sample.references = question.answers;
    sample.metric = Metric::contains_any;
    sample.max_tokens = 32;
    made.push_back(std::move(sample));
  }
  return made;
}

}  // namespace lynxkv::suite
