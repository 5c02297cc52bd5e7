#include "suite/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "suite/builtin_text.hpp"
#include "suite/generate.hpp"
#include "suite/haystack.hpp"

namespace lynxkv::suite {
namespace {

// Changes whenever a generated prompt would, so that results of two versions are never mixed up.
constexpr const char* generator_version = "ruler 1";

// clang-format off
constexpr NeedleTask needle_tasks[] = {
    {.name = "niah_single",      .dull_haystack = true,  .keys = 1, .values_per_key = 1, .keys_asked = 1, .digits = 7},
    {.name = "niah_single_text", .dull_haystack = false, .keys = 1, .values_per_key = 1, .keys_asked = 1, .digits = 7},
    {.name = "niah_multikey",    .dull_haystack = false, .keys = 4, .values_per_key = 1, .keys_asked = 1, .digits = 7},
    {.name = "niah_multivalue",  .dull_haystack = false, .keys = 1, .values_per_key = 4, .keys_asked = 1, .digits = 7},
    {.name = "niah_multiquery",  .dull_haystack = false, .keys = 4, .values_per_key = 1, .keys_asked = 4, .digits = 7},
};
constexpr TrackingTask tracking_tasks[] = {
    {.name = "vt", .chains = 1, .hops = 4},
};
// clang-format on

std::vector<std::string_view> task_names(const std::string& suite) {
  if (suite == "qa") return {"qa"};
  std::vector<std::string_view> names;
  for (const NeedleTask& task : needle_tasks) names.push_back(task.name);
  for (const TrackingTask& task : tracking_tasks) names.push_back(task.name);
  return names;
}

Sample generate(const std::string& name, const Recipe& recipe) {
  for (const NeedleTask& task : needle_tasks)
    if (name == task.name) return make_needles(task, recipe);
  for (const TrackingTask& task : tracking_tasks)
    if (name == task.name) return make_tracking(task, recipe);
  throw Error(ErrorCode::usage, "suite.tasks", unknown_name("task", name, task_names("ruler")));
}

void check_tasks(const SuiteOptions& options) {
  if (options.name == "qa" && options.tasks == SuiteOptions().tasks) return;  // not set: qa has one task only
  const auto names = task_names(options.name);
  for (const std::string& task : options.tasks)
    if (std::find(names.begin(), names.end(), task) == names.end())
      throw Error(ErrorCode::usage, "suite.tasks", unknown_name("task", task, names));
}

// Questions without their text, or a text without questions, would be asked, answered and scored as nonsense.
void check_questions(const SuiteOptions& options) {
  if (options.file.empty() && !options.text.empty())
    throw Error(ErrorCode::usage, "suite.file",
                "names no questions for suite.text; expected a JSONL with \"question\" and \"answers\"");
  if (!options.file.empty() && options.text.empty())
    throw Error(ErrorCode::usage, "suite.text", "names no text that the questions of suite.file are about");
}

void check_readable(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) || !std::ifstream(path).is_open())
    throw Error(ErrorCode::bad_data, path, "cannot be read");
}

std::vector<Sample> generated(const SuiteOptions& options, const TokenCounter& count_tokens) {
  const std::string text = read_text(options);
  const auto pieces = sentences_of(text);
  if (pieces.empty()) throw Error(ErrorCode::bad_data, options.text, "holds no text");
  const std::string identity = std::string(generator_version) + " seed " + std::to_string(options.seed) +
                               " text " + hex64(hash64(text));
  std::vector<Sample> samples;
  for (const std::string& task : options.tasks)
    for (const int length : options.lengths) {
      int guess = 0;
      for (int line = 0; line < options.samples; ++line) {
        const std::string seed = task + " " + std::to_string(length) + " " + std::to_string(line) + " " +
                                 std::to_string(options.seed);
        Sample sample =
            generate(task, {task, length, line, Random(hash64(seed)), &pieces, &count_tokens, &guess});
        sample.suite = "ruler";
        sample.task = task;
        sample.length = length;
        sample.line = line;
        sample.file_hash = hash64(identity + " " + task + " " + std::to_string(length));
        samples.push_back(std::move(sample));
      }
    }
  return samples;
}

}  // namespace

void check_options(const SuiteOptions& options) {
  const std::string_view suites[] = {"ruler", "qa"};
  if (std::find(std::begin(suites), std::end(suites), options.name) == std::end(suites))
    throw Error(ErrorCode::usage, "suite.name", unknown_name("suite", options.name, suites));
  if (options.samples < 0)
    throw Error(ErrorCode::usage, "suite.samples",
                "expected 0 or more, found " + std::to_string(options.samples));
  if (options.max_tokens < 0)
    throw Error(ErrorCode::usage, "suite.max_tokens",
                "expected 0 or more, found " + std::to_string(options.max_tokens));
  for (const int length : options.lengths)
    if (length < 0 || (length == 0 && options.name == "ruler" && options.file.empty()))
      throw Error(ErrorCode::usage, "suite.lengths",
                  "expected tokens above 0, found " + std::to_string(length));
  if (options.name == "qa") check_questions(options);
  if (options.file.empty() || options.name == "qa") check_tasks(options);
  if (options.name == "ruler" && !options.file.empty() && options.tasks.size() != 1)
    throw Error(ErrorCode::usage, "suite.tasks", "expected one task, the one that the file holds");
  if (options.name == "ruler" && options.file.empty() && options.samples == 0)
    throw Error(ErrorCode::usage, "suite.samples", "expected above 0 for generated tasks");
  check_readable(options.file);
  check_readable(options.text);
}

std::string read_text(const SuiteOptions& options) {
  if (options.text.empty()) return std::string(valley_text());
  std::ifstream in(options.text, std::ios::binary);
  std::ostringstream text;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !in.is_open()) throw Error(ErrorCode::bad_data, options.text, "cannot be read");
  return std::move(text).str();
}

void refuse_length(const std::string& task, int length, int needed) {
  throw Error(ErrorCode::usage, "suite.lengths",
              "task '" + task + "' needs " + std::to_string(needed) +
                  " tokens for its question alone, found " + std::to_string(length));
}

std::vector<Sample> make_samples(const SuiteOptions& options, const TokenCounter& count_tokens) {
  check_options(options);
  std::vector<Sample> samples;
  if (options.name == "qa") {
    for (const int length : options.lengths)
      for (Sample& sample : read_questions(options, length, count_tokens))
        samples.push_back(std::move(sample));
  } else if (!options.file.empty()) {
    samples = read_published_ruler(options, options.tasks.front());
  } else {
    samples = generated(options, count_tokens);
  }
  if (options.max_tokens > 0)
    for (Sample& sample : samples) sample.max_tokens = options.max_tokens;
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::tie(a.task, a.length, a.line) < std::tie(b.task, b.length, b.line);
  });
  return samples;
}

}  // namespace lynxkv::suite
