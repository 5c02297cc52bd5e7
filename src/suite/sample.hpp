// One prompt of a suite with what its answer is judged by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxkv::suite {

enum class Metric {
  contains_all,  // RULER: references contained (case folded) / references
  contains_any,  // RULER qa: any of them
  qa_f1,         // LongBench
  rouge_l,       // LongBench's (package `rouge`)
  classification,
  retrieval,
  count,
  code_similarity,
};

struct Sample {
  std::string suite;            // "ruler", "qa"
  std::string task;             // "niah_single", "vt", ...
  std::uint64_t file_hash = 0;  // identity of the data: file contents, or generator, version and seed
  std::int64_t line = 0;        // within (suite, task, length)
  int length = 0;               // nominal prompt length in tokens, of the config; 0 where it has none
  std::string prompt;         // text of the user's turn (or of the whole prompt where use_template is false)
  std::string answer_prefix;  // text that the assistant's turn begins with; part of the prompt
  bool use_template = true;
  std::vector<std::string> references;
  std::vector<std::string> classes;  // classification only
  Metric metric = Metric::contains_all;
  int max_tokens = 32;
};

}  // namespace lynxkv::suite
