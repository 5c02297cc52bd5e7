#include "suite/scoring.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lynxkv::suite {
namespace {

Sample with(std::vector<std::string> references, std::vector<std::string> classes = {}) {
  Sample sample;
  sample.references = std::move(references);
  sample.classes = std::move(classes);
  return sample;
}

TEST(Scoring, CutsToTheFirstLineWhereTheSuiteDoes) {
  EXPECT_EQ(
      score_prediction(scoring_rule("longbench", "triviaqa"), with({"Paris"}), "\n\nParis\nQuestion: what"),
      1.0);
  EXPECT_LT(
      score_prediction(scoring_rule("longbench", "hotpotqa"), with({"Paris"}), "\n\nParis\nQuestion: what"),
      1.0);
  EXPECT_EQ(
      score_prediction(scoring_rule("longbench", "trec"), with({"Date"}, {"Date", "Name"}), "Date\nName"),
      1.0);
  EXPECT_EQ(score_prediction(scoring_rule("longbench", "samsum"), with({"x"}), "\n\n"), 0.0);
}

TEST(Scoring, TakesLongBenchEAndRulersNumberedTasks) {
  EXPECT_EQ(scoring_rule("longbench", "gov_report_e").metric, Metric::rouge_l);
  EXPECT_EQ(scoring_rule("ruler", "niah_multikey_3").metric, Metric::contains_all);
  EXPECT_EQ(scoring_rule("ruler", "qa_2").metric, Metric::contains_any);
}

TEST(Scoring, RefusesUnknownNamesWithTheNearest) {
  const auto refusal = [](const char* suite, const char* task) -> std::string {
    try {
      scoring_rule(suite, task);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(refusal("longbench", "hotpotq").find("did you mean 'hotpotqa'"), std::string::npos);
  EXPECT_NE(refusal("longbench", "dureader"), "");  // a Chinese task
  EXPECT_NE(refusal("ruler", "mmlu"), "");
  EXPECT_NE(refusal("longbenh", "x").find("did you mean 'longbench'"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv::suite
