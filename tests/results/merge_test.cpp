#include "results/merge.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/results/rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;
using testing::sample_row;

Output output(const std::string& name, std::vector<Row> rows) {
  Output made;
  made.name = name;
  made.rows = std::move(rows);
  made.settings_hash = 77;
  made.config = "transfer: {alpha: 0.05}\noutput: {dir: " + name + "}\n";
  made.result_config = R"({"transfer": {"alpha": 0.05}})";
  made.facts_json = R"({"revision": "abc"})";
  made.attempts = {R"({"revision": "abc"})"};
  made.complete = true;
  return made;
}

TEST(Merge, TakesEverySampleOnceAndCountsWhatDiffers) {
  TemporaryFolder folder;
  Row other = sample_row(1);
  other.output_ids = {9};
  const auto outcome = merge_outputs(
      {output("a", {sample_row(0), sample_row(1)}), output("b", {sample_row(0), other, sample_row(2)})},
      folder.file("m"));
  EXPECT_EQ(outcome.rows, 3u);
  EXPECT_EQ(outcome.duplicates, 2u);
  EXPECT_EQ(outcome.conflicts, 1u);
  EXPECT_TRUE(outcome.complete);
  const Output merged = load_output(folder.file("m"));
  EXPECT_EQ(merged.rows.size(), 3u);
  EXPECT_EQ(merged.complete, true);
  EXPECT_EQ(merged.settings_hash, 77u);
  const auto facts = nlohmann::json::parse(merged.facts_json);
  EXPECT_EQ(facts["merged_from"], nlohmann::json({"a", "b"}));
  EXPECT_EQ(facts["attempts"].size(), 2u);
  EXPECT_EQ(facts["revision"], "abc");
}

TEST(Merge, AddsWhatIsMissingWhenRunAgain) {
  TemporaryFolder folder;
  merge_outputs({output("a", {sample_row(0)})}, folder.file("m"));
  EXPECT_EQ(
      merge_outputs({output("a", {sample_row(0)}), output("b", {sample_row(1)})}, folder.file("m")).rows, 2u);
  EXPECT_EQ(load_output(folder.file("m")).rows.size(), 2u);
}

TEST(Merge, IsCompleteOnlyWhereEveryPartIs) {
  TemporaryFolder folder;
  Output part = output("a", {sample_row(0)});
  part.complete.reset();
  EXPECT_FALSE(merge_outputs({part, output("b", {sample_row(1)})}, folder.file("m")).complete);
}

TEST(Merge, RefusesOtherSettingsWithTheDifferenceAndItself) {
  TemporaryFolder folder;
  Output other = output("b", {});
  other.settings_hash = 78;
  other.result_config = "{\"transfer\": {\"alpha\": 0.1}}";
  try {
    merge_outputs({output("a", {}), other}, folder.file("m"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("b: is of other settings than a: transfer.alpha was 0.05, is 0.1"),
        std::string::npos)
        << error.what();
  }
  EXPECT_THROW(merge_outputs({output(folder.path(), {})}, folder.path()), Error);
}

}  // namespace
}  // namespace lynxkv::results
