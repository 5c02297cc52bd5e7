#include "suite/metrics.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "suite/sequence_match.hpp"
#include "suite/suite.hpp"
#include "suite/unicode.hpp"

namespace lynxkv::suite {
namespace {

TEST(Metrics, GiveWhatTheReferenceToolsGive) {
  std::ifstream in(LYNXKV_TEST_DATA "/metrics/longbench.json");
  const auto vectors = nlohmann::json::parse(in);
  ASSERT_EQ(vectors.size(), 51u);
  for (const auto& vector : vectors) {
    const std::string metric = vector["metric"], prediction = vector["prediction"],
                      truth = vector["ground_truth"];
    double found = -1;
    if (metric == "qa_f1_score") found = qa_f1(prediction, truth);
    if (metric == "rouge_score") found = rouge_l(prediction, truth);
    if (metric == "retrieval_score") found = retrieval(prediction, truth);
    if (metric == "count_score") found = count(prediction, truth);
    if (metric == "code_sim_score") found = code_similarity(prediction, truth);
    if (metric == "classification_score")
      found =
          classification(prediction, truth, vector["kwargs"]["all_classes"].get<std::vector<std::string>>());
    EXPECT_DOUBLE_EQ(found, vector["score"].get<double>()) << vector.dump();
  }
}

// tests/data/metrics/README.md says how they were made.
TEST(SequenceRatio, GivesWhatDifflibGivesBelowAndAboveTwoHundredCharacters) {
  std::ifstream in(LYNXKV_TEST_DATA "/metrics/difflib.json");
  const auto vectors = nlohmann::json::parse(in);
  ASSERT_GT(vectors.size(), 300u);
  for (const auto& vector : vectors)
    EXPECT_EQ(sequence_ratio(code_points(vector["a"].get<std::string>()),
                             code_points(vector["b"].get<std::string>())),
              vector["ratio"].get<double>())
        << vector.dump();
}

TEST(ContainsAll, CountsTheReferencesThatAreInTheReplyWhateverTheirCase) {
  EXPECT_EQ(contains_all("They are 123, and ABC.", {"123", "abc"}), 1.0);
  EXPECT_EQ(contains_all("They are 123.", {"123", "abc"}), 0.5);
  EXPECT_EQ(contains_all("", {"123"}), 0.0);
  EXPECT_EQ(contains_all("anything", {}), 0.0);
  EXPECT_EQ(contains_all("ÉTÉ", {"été"}), 1.0);
}

TEST(ContainsAny, TakesOneReferenceForAll) {
  EXPECT_EQ(contains_any("It is Paris.", {"London", "paris"}), 1.0);
  EXPECT_EQ(contains_any("It is Rome.", {"London", "paris"}), 0.0);
}

TEST(Score, TakesTheBestReference) {
  Sample sample;
  sample.metric = Metric::qa_f1;
  sample.references = {"blue", "deep blue sea"};
  EXPECT_EQ(score(sample, "the deep blue sea"), 1.0);
  sample.references.clear();
  EXPECT_EQ(score(sample, "x"), 0.0);
}

TEST(Unicode, LowersAsPythonDoes) {
  EXPECT_EQ(lower("ABC xyz"), "abc xyz");
  EXPECT_EQ(lower("ΌΣΟΣ"), "όσος");                          // the last sigma is a final one
  EXPECT_EQ(lower("İ"), "i\u0307");                          // one character becomes two
  EXPECT_EQ(lower("\xf0\x90\x90\x80"), "\xf0\x90\x90\xa8");  // beyond the first plane
  EXPECT_EQ(lower("\xff\xc3"), "\ufffd\ufffd");
}

TEST(Unicode, ReadsOnlyWellFormedCharacters) {
  EXPECT_EQ(code_points("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), U"aé€😀");
  EXPECT_EQ(code_points("\xc0\x80"), U"\ufffd\ufffd");        // overlong
  EXPECT_EQ(code_points("\xed\xa0\x80").front(), U'\ufffd');  // a surrogate
  EXPECT_EQ(code_points("\xe2\x82"), U"\ufffd\ufffd");
  EXPECT_EQ(to_utf8(U"aé€😀"), "aé€😀");
}

}  // namespace
}  // namespace lynxkv::suite
