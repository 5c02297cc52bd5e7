// Suites that read files: questions over a text, and RULER's published layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "suite/builtin_text.hpp"
#include "suite/suite.hpp"
#include "suite/unicode.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::suite {
namespace {

using lynxkv::testing::TemporaryFolder;

int count_words(const std::string& text) {
  std::istringstream in(text);
  int count = 0;
  for (std::string word; in >> word;) ++count;
  return count;
}

bool holds_an_answer(const Sample& sample) {
  const std::string text = lower(sample.prompt.substr(0, sample.prompt.rfind("\n\n")));
  return std::any_of(sample.references.begin(), sample.references.end(),
                     [&](const std::string& one) { return text.find(lower(one)) != std::string::npos; });
}

struct Files {
  TemporaryFolder folder;
  SuiteOptions options;

  explicit Files(const std::string& name) {
    options.name = name;
    options.tasks = {name == "qa" ? "qa" : "niah_single_1"};
    options.lengths = {0};
    options.samples = 0;
  }
  void file(const std::string& text) {
    options.file = folder.file("data.jsonl");
    std::ofstream(options.file) << text;
  }
  void text(const std::string& text) {
    options.text = folder.file("text.txt");
    std::ofstream(options.text) << text;
  }
  std::vector<Sample> read() const { return make_samples(options, count_words); }
  std::string refusal() const {
    try {
      read();
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_data) << error.what();
      return error.what();
    }
  }
};

TEST(Questions, AskAboutTheWholeTextWhereNoLengthIsSet) {
  Files files("qa");
  files.text("The cat is grey. The dog is brown.\n");
  files.file(
      "{\"question\": \"Which colour is the cat?\", \"answers\": [\"grey\", \"gray\"]}\n\n{\"question\": "
      "\"And the dog?\", \"answers\": \"brown\"}\n");
  const auto samples = files.read();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_NE(samples[0].prompt.find("\n\nThe cat is grey. The dog is brown.\n\n"), std::string::npos)
      << samples[0].prompt;
  EXPECT_NE(samples[0].prompt.find("Which colour is the cat?"), std::string::npos);
  EXPECT_EQ(samples[0].references, (std::vector<std::string>{"grey", "gray"}));
  EXPECT_EQ(samples[1].references, (std::vector<std::string>{"brown"}));
  EXPECT_EQ(score(samples[0], "It is Gray."), 1.0);
  EXPECT_EQ(samples[0].max_tokens, 32);
}

TEST(Questions, RepeatAShortTextUpToTheLength) {
  Files files("qa");
  files.text("The cat is grey. The dog is brown.\n");
  files.file(R"({"question": "Which colour is the cat?", "answers": ["grey"]})");
  files.options.lengths = {100};
  const auto sample = files.read().front();
  EXPECT_LE(count_words(sample.prompt + sample.answer_prefix), 100);
  EXPECT_GT(count_words(sample.prompt + sample.answer_prefix), 95);
}

TEST(Questions, CutALongTextAroundAPlaceThatHoldsTheAnswer) {
  Files files("qa");
  for (const int length : {60, 100, 300}) {
    files.options.lengths = {length};
    const auto samples = files.read();
    ASSERT_EQ(samples.size(), valley_questions().size());
    for (const Sample& sample : samples) {
      EXPECT_LE(count_words(sample.prompt + sample.answer_prefix), length);
      EXPECT_TRUE(holds_an_answer(sample)) << sample.prompt;
    }
  }
}

TEST(Questions, OfTheValleyHaveTheirAnswersInTheText) {
  const std::string text = lower(valley_text());
  for (const Question& question : valley_questions())
    EXPECT_NE(text.find(lower(question.answers.front())), std::string::npos) << question.question;
}

TEST(Questions, NameFileAndLineOfWhatIsWrong) {
  Files files("qa");
  files.text("The cat is grey.\n");
  files.file("{\"question\": \"a\", \"answers\": [\"b\"]}\n{\"question\": \"a\"}\n");
  EXPECT_NE(files.refusal().find("data.jsonl, line 2: field 'answers'"), std::string::npos)
      << files.refusal();
  files.file("{\"question\": 5, \"answers\": [\"b\"]}");
  EXPECT_NE(files.refusal().find("line 1: field 'question': expected text, found number"), std::string::npos)
      << files.refusal();
  files.file("{\"question\": \"a\", \"answers\": []}");
  EXPECT_NE(files.refusal().find("not empty"), std::string::npos) << files.refusal();
  files.file("[1, 2]\n");
  EXPECT_NE(files.refusal().find("expected an object, found array"), std::string::npos) << files.refusal();
  files.file("{\"question\"");
  EXPECT_NE(files.refusal().find("line 1: is not valid JSON"), std::string::npos) << files.refusal();
  files.file("\n \n");
  EXPECT_NE(files.refusal().find("found none"), std::string::npos) << files.refusal();
  files.options.file = files.folder.file("absent");
  EXPECT_NE(files.refusal().find("absent: cannot be read"), std::string::npos) << files.refusal();
  files.file(R"({"question": "a", "answers": ["b"]})");
  files.text("");
  EXPECT_NE(files.refusal().find("holds no text"), std::string::npos) << files.refusal();
  files.options.text = files.folder.path();
  EXPECT_NE(files.refusal(), "");
}

TEST(PublishedRuler, IsReadUnchanged) {
  Files files("ruler");
  files.file(
      "{\"index\": 1, \"input\": \"Some text.\\nWhat is it?\", \"outputs\": [\"12\", \"13\"], \"length\": "
      "4010, \"answer_prefix\": \" The numbers are\"}\n"
      "{\"index\": 0, \"input\": \"Other.\", \"outputs\": [\"9\"], \"length\": 3990}\n");
  files.options.lengths = {2048};
  const auto samples = files.read();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].line, 0);
  EXPECT_EQ(samples[0].answer_prefix, "");
  EXPECT_EQ(samples[1].prompt, "Some text.\nWhat is it?");
  EXPECT_EQ(samples[1].answer_prefix, " The numbers are");
  EXPECT_EQ(samples[1].references, (std::vector<std::string>{"12", "13"}));
  EXPECT_EQ(samples[1].length, 4096);
  EXPECT_FALSE(samples[1].use_template);
  EXPECT_EQ(samples[1].max_tokens, 128);
  EXPECT_EQ(score(samples[1], "12 and more"), 0.5);
  files.options.samples = 1;
  EXPECT_EQ(files.read().size(), 1u);
}

TEST(PublishedRuler, TakesTokensAndScoreFromTheTask) {
  Files files("ruler");
  files.file(R"({"index": 0, "input": "x", "outputs": ["a", "b"], "length": 1})");
  const struct {
    const char* task;
    int max_tokens;
    double score_of_one;
  } tasks[] = {
      {"niah_multikey_2", 128, 0.5}, {"vt", 30, 0.5}, {"cwe", 120, 0.5}, {"fwe", 50, 0.5}, {"qa_1", 32, 1}};
  for (const auto& [task, max_tokens, score_of_one] : tasks) {
    files.options.tasks = {task};
    const auto sample = files.read().front();
    EXPECT_EQ(sample.max_tokens, max_tokens) << task;
    EXPECT_EQ(score(sample, "A"), score_of_one) << task;
  }
}

TEST(PublishedRuler, NamesFileAndLineOfWhatIsWrong) {
  Files files("ruler");
  files.file(
      "{\"index\": 0, \"input\": \"x\", \"outputs\": [\"a\"]}\n{\"index\": 0, \"input\": \"x\", \"outputs\": "
      "[\"a\"]}\n");
  EXPECT_NE(files.refusal().find("index 0 is there twice"), std::string::npos) << files.refusal();
  files.file("{\"index\": 0, \"outputs\": [\"a\"]}\n");
  EXPECT_NE(files.refusal().find("line 1: field 'input' is missing"), std::string::npos) << files.refusal();
  files.file("{\"index\": -1, \"input\": \"x\", \"outputs\": [\"a\"]}\n");
  EXPECT_NE(files.refusal().find("'index' is negative"), std::string::npos) << files.refusal();
}

}  // namespace
}  // namespace lynxkv::suite
