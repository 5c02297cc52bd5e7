// Scores of one prediction against one reference, 0 .. 1, equal to those of the suites' own tools to the last
// digit (their oddities included; tests/data/metrics). score() in suite/suite.hpp chooses and takes the best.
#pragma once

#include <string>
#include <vector>

namespace lynxkv::suite {

// RULER: how many of the references the prediction contains (case folded), over their number; 0 where there
// are none.
double contains_all(const std::string& prediction, const std::vector<std::string>& references);
// RULER's question answering: 1 where it contains any.
double contains_any(const std::string& prediction, const std::vector<std::string>& references);

// LongBench. F1 of the two bags of words after lower case, without ASCII punctuation and the articles a, an,
// the.
double qa_f1(const std::string& prediction, const std::string& reference);
// F of ROUGE-L as package `rouge` 1.0.1 computes it: union of the longest common subsequences over sentence
// pairs (split at "."), words counted as sets. 0 where either side has no sentence.
double rouge_l(const std::string& prediction, const std::string& reference);
// 1 / (classes named in the prediction), where the right one is among them. Classes that are a proper part of
// the right label are dropped the way the reference does it: while walking over the list, so some stay.
double classification(const std::string& prediction, const std::string& reference,
                      const std::vector<std::string>& classes);
// Share of the numbers in the prediction that are the one in "Paragraph N".
double retrieval(const std::string& prediction, const std::string& reference);
// Share of the numbers in the prediction that are the reference.
double count(const std::string& prediction, const std::string& reference);
// Similarity (difflib's ratio, in whole per cent) of the first line of code: without a backtick, '#' or "//".
double code_similarity(const std::string& prediction, const std::string& reference);

}  // namespace lynxkv::suite
