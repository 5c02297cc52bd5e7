// How published suites score a task, for predictions that are already there.
#pragma once

#include <string>

#include "suite/sample.hpp"

namespace lynxkv::suite {

struct ScoringRule {
  Metric metric = Metric::contains_all;
  bool first_line = false;  // the prediction is cut to its first line after leading line breaks
  int digits = 2;           // of the task's score in per cent, as its suite prints it
};

// suite: ruler, longbench or qa. Throws Error{usage} for an unknown suite or task, with the nearest.
ScoringRule scoring_rule(const std::string& suite, const std::string& task);

// Applies the rule's cut, then score().
double score_prediction(const ScoringRule& rule, Sample sample, const std::string& prediction);

}  // namespace lynxkv::suite
