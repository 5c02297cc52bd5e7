// Suites: published files read unchanged, and built-in generators, so that a first run needs no download.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "suite/sample.hpp"

namespace lynxkv::suite {

struct SuiteOptions {
  std::string name = "ruler";  // ruler | qa
  std::vector<std::string> tasks = {"niah_single"};
  std::vector<int> lengths = {2048};  // prompt tokens, template and answer room not counted
  int samples = 8;                    // per task and length
  std::string file;                   // qa: the questions about `text`; ruler: a JSONL of the published layout
  std::string text;                   // qa, niah: a text to search in; empty: the built-in one (qa: with its questions)
  std::uint64_t seed = 42;
  int max_tokens = 0;  // 0: the task's own
};

// Counts the tokens of a text with the run's tokenizer; generators fill a prompt up to a length with it.
using TokenCounter = std::function<int(const std::string&)>;

// What can be told of the options without a model: names, ranges, files that are there, a text that has questions.
// Throws as make_samples() does.
void check_options(const SuiteOptions& options);

// All samples of the options, sorted by (task, length, line); the same on every rank. Throws Error{usage} for
// unknown names (with the nearest), Error{bad_data} for files, naming file and line.
std::vector<Sample> make_samples(const SuiteOptions& options, const TokenCounter& count_tokens);

// 0 .. 1, by the sample's metric.
double score(const Sample& sample, const std::string& prediction);

}  // namespace lynxkv::suite
