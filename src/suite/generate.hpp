// The generated tasks and the readers of files, one function each; make_samples() in suite/suite.hpp calls
// them. A generated sample depends on (task, length, line, seed), its text and the tokenizer's counts, on
// nothing else: not on how many samples are made, nor on the machine.
#pragma once

#include <string>
#include <vector>

#include "suite/random.hpp"
#include "suite/suite.hpp"

namespace lynxkv::suite {

// What a generated sample is made from.
struct Recipe {
  std::string task;
  int length = 0;  // tokens of prompt and answer prefix together, at most
  std::int64_t line = 0;
  Random random{0};                                       // seeded by task, length, line and seed
  const std::vector<std::string>* text_pieces = nullptr;  // of the text to search in (suite/haystack.hpp)
  const TokenCounter* count_tokens = nullptr;
  int* guess = nullptr;  // pieces that filled the last sample of this task and length; updated
};

// Needles in a haystack, after RULER: keys with values are hidden, some of them asked for.
struct NeedleTask {
  const char* name;
  bool dull_haystack;  // dull sentences; otherwise the text's
  int keys;
  int values_per_key;
  int keys_asked;
  int digits;  // of a value
};
Sample make_needles(const NeedleTask& task, Recipe recipe);

// Variable tracking, after RULER: chains of assignments; which variables hold the value?
struct TrackingTask {
  const char* name;
  int chains;
  int hops;  // assignments from variable to variable in a chain
};
Sample make_tracking(const TrackingTask& task, Recipe recipe);

// The samples of a questions file (JSONL of {"question", "answers"}) over a text, for one length. Without a
// file: the built-in text and its questions. Throws Error{bad_data} naming file and line.
std::vector<Sample> read_questions(const SuiteOptions& options, int length, const TokenCounter& count_tokens);

// The samples of a JSONL file in RULER's published layout, as they are.
std::vector<Sample> read_published_ruler(const SuiteOptions& options, const std::string& task);

// The text that options name, or the built-in one. Throws Error{bad_data}.
std::string read_text(const SuiteOptions& options);

// Error{usage}: `length` tokens do not hold even the question.
[[noreturn]] void refuse_length(const std::string& task, int length, int needed);

}  // namespace lynxkv::suite
