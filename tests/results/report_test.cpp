#include "results/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "results/report_text.hpp"
#include "tests/results/rows.hpp"

namespace lynxkv::results {
namespace {

using testing::sample_row;

Row row(std::int64_t line, const std::string& mode, std::vector<std::int32_t> ids, double ttft_s = 0.1) {
  Row made = sample_row(line, mode);
  made.output_ids = std::move(ids);
  made.ttft_s = ttft_s;
  made.ttkt_s = {ttft_s};
  made.retries = 0;
  return made;
}

Output output(const std::string& name, std::vector<Row> rows, const std::string& facts = "{}") {
  Output made;
  made.name = name;
  made.rows = std::move(rows);
  made.facts_json = facts;
  return made;
}

const ReportLine& line_of(const Report& report, const std::string& mode, std::size_t from = 0) {
  for (const ReportLine& line : report.groups.at(0).lines)
    if (line.mode == mode && line.output == from) return line;
  throw std::runtime_error("no line for " + mode);
}

TEST(Report, AgreementCountsEqualPositionsOfTheLongerOutput) {
  EXPECT_EQ(token_agreement({1, 2, 3, 4}, {1, 2, 3, 4}), 1.0);
  EXPECT_EQ(token_agreement({1, 2, 3, 4}, {1, 9, 3, 9}), 0.5);
  EXPECT_EQ(token_agreement({1, 2}, {1, 2, 3, 4}), 0.5);
  EXPECT_EQ(token_agreement({}, {1}), 0.0);
  EXPECT_EQ(token_agreement({}, {}), 1.0);
}

TEST(Report, MedianIsTheMiddleOrTheMeanOfTheTwoMiddles) {
  EXPECT_EQ(median({3, 1, 2}), 2.0);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Report, PairsEverySampleWithBf16) {
  const Report report =
      make_report({output("a", {row(0, "int4", {1, 2}), row(1, "int4", {5, 6}), row(2, "int4", {7}),
                                row(0, "bf16", {1, 2}), row(1, "bf16", {5, 7})})});
  const ReportLine& int4 = line_of(report, "int4");
  EXPECT_EQ(int4.samples, 3);
  EXPECT_EQ(int4.compared, 2);
  EXPECT_EQ(int4.same_tokens_percent, 75.0);
  EXPECT_EQ(int4.same_outputs_percent, 50.0);
  EXPECT_EQ(line_of(report, "bf16").same_outputs_percent, 100.0);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("do not have the same samples"), std::string::npos);
}

TEST(Report, WithoutBf16ThereIsNothingToAgreeWith) {
  const Report report = make_report({output("a", {row(0, "int4", {1})})});
  EXPECT_TRUE(std::isnan(line_of(report, "int4").same_tokens_percent));
  EXPECT_EQ(line_of(report, "int4").compared, 0);
}

TEST(Report, TakesMediansAndMeansOverSamples) {
  std::vector<Row> rows = {row(0, "lynx", {1, 2}, 0.1), row(1, "lynx", {1, 2}, 0.2),
                           row(2, "lynx", {1}, 0.9)};
  rows[0].ttkt_s = {0.1, 0.5};
  rows[0].tpot_s = 0.01;
  rows[1].tpot_s = 0.03;
  rows[2].tpot_s = 0;  // one token only: no time per output token
  rows[0].drafted = 10, rows[0].accepted = 10, rows[0].all_accepted = true;
  rows[1].drafted = 10, rows[1].accepted = 5, rows[1].all_accepted = false;
  rows[2].drafted = 0, rows[2].accepted = 0, rows[2].all_accepted = false;
  const Report report = make_report({output("a", rows, R"({"kv_elements_per_token": 4})")});
  const ReportLine& line = line_of(report, "lynx");
  EXPECT_EQ(line.ttft_s, 0.2);
  EXPECT_EQ(line.ttkt_s[1], 0.5);
  EXPECT_EQ(line.ttkt_samples[1], 1);
  EXPECT_EQ(line.tpot_s, 0.02);
  EXPECT_EQ(line.score_percent, 50.0);
  EXPECT_DOUBLE_EQ(line.drafted, 20.0 / 3);
  EXPECT_DOUBLE_EQ(line.accepted_percent, 75.0);
  EXPECT_EQ(line.all_accepted_percent, 50.0);  // of the two that drafted
  EXPECT_EQ(line.stream_bytes[0], 1000.0);
  EXPECT_DOUBLE_EQ(line.bits_per_element, 8 * 1900.0 / (4 * 2100));
}

TEST(Report, ListsModesInTheOrderOfTheDocumentation) {
  const Report report =
      make_report({output("a", {row(0, "zeta", {1}), row(0, "lynx", {1}), row(0, "int4", {1}),
                                row(0, "alpha", {1}), row(0, "bf16", {1})})});
  std::vector<std::string> modes;
  for (const ReportLine& line : report.groups.at(0).lines) modes.push_back(line.mode);
  EXPECT_EQ(modes, (std::vector<std::string>{"bf16", "int4", "lynx", "alpha", "zeta"}));
}

TEST(Report, SeparatesSuitesTasksAndLengths) {
  std::vector<Row> rows = {row(0, "bf16", {1}), row(0, "bf16", {1}), row(0, "bf16", {1})};
  rows[1].key.length = 4096;
  rows[2].key.task = "vt";
  EXPECT_EQ(make_report({output("a", rows)}).groups.size(), 3u);
}

TEST(Report, CountsOnlySamplesThatAllOutputsHold) {
  const Report report =
      make_report({output("a", {row(0, "lynx", {1}, 1), row(1, "lynx", {1}, 2), row(2, "lynx", {1}, 9)}),
                   output("b", {row(1, "lynx", {1}, 4), row(2, "lynx", {1}, 5), row(1, "bf16", {2})})});
  EXPECT_EQ(line_of(report, "lynx", 0).samples, 2);
  EXPECT_EQ(line_of(report, "lynx", 0).left_out, 1);
  EXPECT_EQ(line_of(report, "lynx", 0).ttft_s, 5.5);
  EXPECT_EQ(line_of(report, "lynx", 1).ttft_s, 4.5);
  EXPECT_EQ(line_of(report, "lynx", 0).compared, 1) << "bf16 of another output serves too";
  EXPECT_EQ(line_of(report, "bf16", 1).samples, 1);
  EXPECT_NE(report.notes.at(0).find("1 samples that not every output holds are left out"), std::string::npos);
}

TEST(Report, PairsOutputsThatHaveNoModeInCommon) {
  const Report report = make_report({output("a", {row(0, "lynx", {1}, 1), row(1, "lynx", {1}, 2)}),
                                     output("b", {row(1, "int8", {1}, 4), row(2, "int8", {1}, 9)})});
  EXPECT_EQ(line_of(report, "lynx", 0).samples, 1);
  EXPECT_EQ(line_of(report, "lynx", 0).ttft_s, 2);
  EXPECT_EQ(line_of(report, "int8", 1).ttft_s, 4);
}

TEST(Report, SaysWhatIsIncompleteOrEmptyOrCut) {
  Output unfinished = output("a", {});
  unfinished.complete = false;
  const Report report = make_report({unfinished});
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_NE(report.notes[0].find("a: incomplete"), std::string::npos);
  EXPECT_EQ(to_text(report), "note: " + report.notes[0] + "\nnote: no sample is finished yet\n");
  Row cut = row(0, "bf16", {1});
  cut.truncated_tokens = 5;
  EXPECT_NE(make_report({output("a", {cut})}).notes.at(0).find("1 prompts were cut"), std::string::npos);
}

TEST(ReportText, AlignsColumnsUnderTheirNames) {
  Row fast = row(0, "lynx", {1, 2}, 0.125), slow = row(0, "bf16", {1, 3}, 12.5);
  slow.drafted = slow.accepted = 0;
  slow.all_accepted = false;
  const std::string text = to_text(make_report({output("a", {fast, slow})}));
  EXPECT_EQ(
      text.substr(0, text.find("\n\n")),
      // clang-format off
      "ruler / niah_single, 2048 tokens, start: after_prefill\n"
      "                       tokens  outputs    TTFT    TTFT                                           all\n"
      "mode  samples  score  as bf16  as bf16   draft  commit  TPOT       sent  drafted  accepted  accepted\n"
      "                   %        %        %       s       s    ms  MB/sample  /sample   /sample         %\n"
      "bf16        1   50.0    100.0    100.0  12.500   0.300   3.3       0.00      0.0       0.0         -\n"
      "lynx        1   50.0     50.0      0.0   0.125   0.300   3.3       0.00      3.0       2.0         0"
      // clang-format on
  );
}

std::string title_with(const std::vector<std::string>& result_configs) {
  std::vector<Output> outputs;
  for (const std::string& config : result_configs) {
    outputs.push_back(output(std::string(1, static_cast<char>('A' + outputs.size())), {row(0, "lynx", {1})}));
    outputs.back().result_config = config;
  }
  return make_tables(make_report(outputs)).at(0).title;
}

TEST(ReportText, NamesTheSettingsOfTheLinkThatAreNotTheDefaultOrDiffer) {
  const std::string sound = R"({"link.gbps": 0, "link.faults.flip": 0.0, "link.faults.seed": 7, "transfer.alpha": 1})";
  const std::string faulty = R"({"link.gbps": 0.5, "link.faults.flip": 0.02, "link.faults.seed": 7})";
  EXPECT_EQ(title_with({sound}), "ruler / niah_single, 2048 tokens, start: after_prefill");
  EXPECT_EQ(title_with({sound, ""}), "ruler / niah_single, 2048 tokens");
  EXPECT_EQ(title_with({faulty}), "ruler / niah_single, 2048 tokens, start: after_prefill, link.faults.flip 0.02, "
                                  "link.faults.seed 7, link.gbps 0.5");
  EXPECT_EQ(title_with({faulty, faulty}),
            "ruler / niah_single, 2048 tokens, link.faults.flip 0.02, link.faults.seed 7, link.gbps 0.5");
  EXPECT_EQ(title_with({faulty, sound}),
            "ruler / niah_single, 2048 tokens; A: link.faults.flip 0.02, link.faults.seed 7, link.gbps 0.5 | B: "
            "link.faults.flip 0.0 (default), link.faults.seed 1 (default), link.gbps 0 (default)");
  EXPECT_EQ(title_with({R"({"link.new": "x"})"}), "ruler / niah_single, 2048 tokens, start: after_prefill, link.new x");
}

TEST(ReportText, SaysBelowTheTablesWhatWaitedForOthersAndWhyNoLinkIsFitted) {
  Row first = row(0, "lynx", {1}), second = row(1, "lynx", {1}), later = row(2, "lynx", {1});
  later.t_kv_unix_s += 100;
  const std::string shared = to_text(make_report({output("a", {first, second, later})}));
  EXPECT_NE(shared.find("\nlink, shared: 2 of 3 samples were sent while another one was; their times include waiting for it"),
            std::string::npos) << shared;
  EXPECT_NE(shared.find("\nlink, not fitted: 2 of 6 transfers had the link alone"), std::string::npos) << shared;
  later.start = "streaming";
  const std::string streaming = to_text(make_report({output("a", {later})}));
  EXPECT_EQ(streaming.find("shared:"), std::string::npos) << streaming;
  EXPECT_NE(streaming.find("\nlink, not fitted: what is sent during a prefill tells nothing"), std::string::npos) << streaming;
  EXPECT_EQ(streaming.find("note:"), std::string::npos) << streaming;
}

TEST(ReportText, DefinesEveryColumnOfNumbers) {
  const std::string text = to_text(make_report({output("a", {row(0, "bf16", {1})})}));
  for (const char* const defined : {"Score:", "As bf16:", "TTFT draft:", "TTnT:", "TPOT: (last - first commit) / (tokens - 1)",
                                    "sent again included", "Drafted:", "accepted:", "All accepted:"})
    EXPECT_NE(text.find(defined), std::string::npos) << defined << " in " << text;
}

TEST(ReportText, GivesMarkdownWithAsManyCellsInEveryRow) {
  const std::string text =
      to_markdown(make_report({output("out|1", {row(0, "bf16", {1})}), output("b", {row(0, "bf16", {1})})}));
  EXPECT_NE(text.find("| mode | output | start | samples | score, % |"), std::string::npos) << text;
  EXPECT_NE(text.find("out\\|1"), std::string::npos);
  std::size_t bars = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (!line.empty() && line.front() == '|') {
      const auto count = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|')) -
                         (line.find("\\|") != std::string::npos ? 1u : 0u);
      EXPECT_EQ(count, bars == 0 ? count : bars) << line;
      bars = count;
    }
    at = end + 1;
  }
  EXPECT_GT(bars, 10u);
}

TEST(ReportText, GivesOneJsonDocument) {
  const auto document =
      nlohmann::json::parse(to_json(make_report({output("a", {row(0, "bf16", {1}), row(0, "lynx", {1})})})));
  EXPECT_EQ(document["schema_version"], 1);
  const auto& line = document["groups"][0]["lines"][1];
  EXPECT_EQ(line["mode"], "lynx");
  EXPECT_EQ(line["ttft_s"], 0.1);
  EXPECT_EQ(line["outputs_as_bf16_percent"], 100.0);
  EXPECT_TRUE(line["ttkt_s"]["64"].is_null());
  EXPECT_TRUE(line["bits_per_value"].is_null());
  EXPECT_EQ(line["bytes"]["anchor"], 1000.0);
}

}  // namespace
}  // namespace lynxkv::results
