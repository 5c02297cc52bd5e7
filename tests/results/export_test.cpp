#include "results/export.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/results/rows.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;
using testing::sample_row;

TEST(Export, AnObjectASampleHasTheFieldsThatScriptsRelyOn) {
  const std::string line = json_line(sample_row(3));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const json row = json::parse(line);
  EXPECT_EQ(row["suite"], "ruler");
  EXPECT_EQ(row["task"], "niah_single");
  EXPECT_EQ(row["line"], 3);
  EXPECT_EQ(row["mode"], "lynx");
  EXPECT_EQ(row["prompt_tokens"], 2101);
  EXPECT_EQ(row["output_ids"], json({5, 49151, 0, 3}));
  EXPECT_EQ(row["prediction"], "The number is 12é.");
  EXPECT_EQ(row["references"], json({"12", "twelve"}));
  EXPECT_EQ(row["score"], 0.5);
  EXPECT_EQ(row["finish"], "stop");
  EXPECT_EQ(row["ttft_s"], 0.125);
  EXPECT_EQ(row["ttkt_s"], json({{"1", 0.125}, {"2", 0.15}, {"4", 0.2}}));
  EXPECT_EQ(row["tpot_s"], 0.01 / 3);
  EXPECT_EQ(row["drafted"], 3);
  EXPECT_EQ(row["accepted"], 2);
  EXPECT_EQ(row["bytes"], json({{"anchor", 1000}, {"residual", 900}, {"exact", 0}}));
  EXPECT_EQ(row["file_hash"], "fedcba9876543210");
}

TEST(Export, IsValidJsonWhateverTheRowHolds) {
  Row row = sample_row(0);
  row.prediction = "a\xff\"\n";
  row.score = std::nan("");
  row.commit_s = {INFINITY};
  const json object = json::parse(json_line(row));
  EXPECT_EQ(object["prediction"], "a\ufffd\"\n");
  EXPECT_TRUE(object["score"].is_null());
  EXPECT_TRUE(object["commit_s"][0].is_null());
}

TEST(Export, CsvHasAsManyCellsAsNamesAndQuotesWhatNeedsIt) {
  Row row = sample_row(0);
  row.prediction = "one, \"two\"\nthree";
  const std::string text = samples_csv({row, sample_row(1)});
  EXPECT_NE(text.find(",\"one, \"\"two\"\"\nthree\","), std::string::npos) << text;
  EXPECT_NE(text.find("\"[5,49151,0,0]\""), std::string::npos) << text;
  // Count cells as a reader does: commas outside quotes.
  std::vector<int> cells = {1};
  bool inside = false;
  for (const char c : text) {
    if (c == '"') inside = !inside;
    if (!inside && c == ',') ++cells.back();
    if (!inside && c == '\n') cells.push_back(1);
  }
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[1], cells[0]);
  EXPECT_EQ(cells[2], cells[0]);
  EXPECT_NE(text.substr(0, text.find('\n')).find(",ttkt_64_s,"), std::string::npos);
  EXPECT_EQ(samples_csv({}).find('\n'), samples_csv({}).size() - 1);
}

TEST(Export, CsvOfTokensHasALineAToken) {
  EXPECT_EQ(tokens_csv({sample_row(7)}),
            "suite,task,length,line,mode,position,id,commit_s\n"
            "ruler,niah_single,2048,7,lynx,0,5,0.3\nruler,niah_single,2048,7,lynx,1,49151,0.3\n"
            "ruler,niah_single,2048,7,lynx,2,0,0.3\nruler,niah_single,2048,7,lynx,3,7,0.31\n");
}

}  // namespace
}  // namespace lynxkv::results
