// tokenizer.json of checkpoint folders, against what the Hugging Face library gives for the same file, id for id.
#include "model/tokenizer_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "model/chat_template.hpp"
#include "model/model_file.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;
using testing::error_of;
using testing::has;

json recorded(const std::string& name) {
  return json::parse(testing::read_text(testing::data_path("tokenizer_json/" + name + ".json")));
}

struct Opened {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string problem;
};

Opened open(const json& file, int rows, const json& settings = {}, const json& generation = {}) {
  Opened opened;
  opened.tokenizer = tokenizer_from_json({"tokenizer.json", file.dump(), settings.is_null() ? "" : settings.dump(),
                                          generation.is_null() ? "" : generation.dump()},
                                         rows, opened.problem);
  return opened;
}

class JsonTokenizer : public ::testing::TestWithParam<std::string> {};

TEST_P(JsonTokenizer, GivesTheIdsAndTextsThatTheReferenceGives) {
  const json golden = recorded(GetParam());
  const auto opened = open(golden["tokenizer"], golden["rows"]);
  ASSERT_NE(opened.tokenizer, nullptr) << opened.problem;
  for (const json& entry : golden["texts"]) {
    const auto text = entry["text"].get<std::string>();
    const auto ids = opened.tokenizer->encode(text, SpecialText::becomes_token);
    EXPECT_EQ(ids, entry["ids"].get<std::vector<TokenId>>()) << text;
    EXPECT_EQ(opened.tokenizer->decode(ids), entry["decoded"].get<std::string>());
    auto with_front = ids;
    if (opened.tokenizer->adds_bos()) with_front.insert(with_front.begin(), opened.tokenizer->bos());
    EXPECT_EQ(with_front, entry["with_front"].get<std::vector<TokenId>>()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, JsonTokenizer, ::testing::Values("gpt2", "smollm", "llama3", "qwen2"),
                         [](const auto& pattern) { return pattern.param; });

TEST(TokenizerJson, ReadsMergesInBothSpellings) {
  const json golden = recorded("gpt2");
  json pairs = golden["tokenizer"], lines = golden["tokenizer"];
  json spelled_pairs = json::array(), spelled_lines = json::array();
  for (const json& merge : golden["tokenizer"]["model"]["merges"]) {
    const std::string left = merge.is_array() ? merge[0].get<std::string>() : merge.get<std::string>().substr(0, merge.get<std::string>().find(' ', 1));
    const std::string right = merge.is_array() ? merge[1].get<std::string>() : merge.get<std::string>().substr(merge.get<std::string>().find(' ', 1) + 1);
    spelled_pairs.push_back({left, right});
    spelled_lines.push_back(left + " " + right);
  }
  pairs["model"]["merges"] = spelled_pairs;
  lines["model"]["merges"] = spelled_lines;
  const int rows = golden["rows"];
  EXPECT_EQ(open(pairs, rows).tokenizer->hash(), open(lines, rows).tokenizer->hash());
}

TEST(TokenizerJson, RowsBeyondTheVocabularyStandForNoText) {
  const json golden = recorded("smollm");
  const int rows = golden["rows"].get<int>() + 5;
  const auto opened = open(golden["tokenizer"], rows);
  ASSERT_NE(opened.tokenizer, nullptr);
  EXPECT_EQ(opened.tokenizer->vocabulary_size(), rows);
  const TokenId padding = rows - 1;
  EXPECT_EQ(opened.tokenizer->decode(std::span(&padding, 1)), "");
}

TEST(TokenizerJson, TakesFirstAndLastTokensFromTheSettings) {
  const json golden = recorded("smollm");
  const json settings = {{"bos_token", "<|im_start|>"}, {"eos_token", {{"content", "<|endoftext|>"}}}, {"add_bos_token", true}};
  const auto opened = open(golden["tokenizer"], golden["rows"], settings, {{"eos_token_id", {0, 7}}});
  ASSERT_NE(opened.tokenizer, nullptr);
  EXPECT_TRUE(opened.tokenizer->adds_bos());
  EXPECT_EQ(opened.tokenizer->bos(), 1);
  EXPECT_EQ(opened.tokenizer->eos(), 0);
  EXPECT_TRUE(opened.tokenizer->is_end(7)) << "of the generation settings";
  EXPECT_TRUE(opened.tokenizer->is_end(2)) << "<|im_end|> ends a turn";
  EXPECT_FALSE(opened.tokenizer->is_end(9));
}

TEST(TokenizerJson, NamesWhatItDoesNotSupport) {
  const json golden = recorded("gpt2");
  const int rows = golden["rows"];
  const auto problem = [&](const char* pointer, const json& value) {
    json changed = golden["tokenizer"];
    changed[json::json_pointer(pointer)] = value;
    const auto opened = open(changed, rows);
    EXPECT_EQ(opened.tokenizer, nullptr) << pointer;
    return opened.problem;
  };
  EXPECT_TRUE(has(problem("/model/type", "Unigram"), "'Unigram'"));
  EXPECT_TRUE(has(problem("/model/byte_fallback", true), "byte_fallback"));
  EXPECT_TRUE(has(problem("/normalizer", {{"type", "NFC"}}), "'NFC'"));
  EXPECT_TRUE(has(problem("/pre_tokenizer", {{"type", "Whitespace"}}), "'Whitespace'"));
  EXPECT_TRUE(has(problem("/pre_tokenizer", nullptr), "step"));
  EXPECT_TRUE(has(problem("/post_processor", {{"type", "BertProcessing"}}), "'BertProcessing'"));
  EXPECT_TRUE(has(problem("/added_tokens/0/lstrip", true), "lstrip"));
}

TEST(TokenizerJson, RefusesWhatIsDamaged) {
  const json golden = recorded("gpt2");
  const int rows = golden["rows"];
  const auto refusal = [&](const char* pointer, const json& value) {
    json changed = golden["tokenizer"];
    changed[json::json_pointer(pointer)] = value;
    return error_of([&] { open(changed, rows); });
  };
  EXPECT_TRUE(has(refusal("/model", 5), "expected a 'model'"));
  EXPECT_TRUE(has(refusal("/model/vocab", json::array()), "expected a vocabulary"));
  EXPECT_TRUE(has(refusal("/model/vocab/a", 1000000), "expected an id from 0"));
  EXPECT_TRUE(has(refusal("/model/vocab/a", -1), "expected an id from 0"));
  EXPECT_TRUE(has(refusal("/model/vocab/a", "x"), "expected an id from 0"));
  EXPECT_TRUE(has(refusal("/model/vocab/a", 70), "stands for both"));
  EXPECT_TRUE(has(refusal("/model/merges", {}), "expected a list as 'merges'"));
  EXPECT_TRUE(has(refusal("/model/merges/0", "ab"), "merge 0"));
  EXPECT_TRUE(has(refusal("/model/merges/0", {"a", "no such token"}), "merge 0"));
  EXPECT_TRUE(has(refusal("/added_tokens", 1), "'added_tokens'"));
  EXPECT_TRUE(has(refusal("/added_tokens/0/content", ""), "no text"));
  EXPECT_TRUE(has(error_of([&] { open(golden["tokenizer"], 100); }), "rows of the embedding"));
  EXPECT_TRUE(has(error_of([&] { open(golden["tokenizer"], rows, {}, {{"eos_token_id", rows}}); }), "eos_token_id"));
  std::string problem;
  EXPECT_TRUE(has(error_of([&] { tokenizer_from_json({"t.json", "{\"model\": ", "", ""}, 10, problem); }), "expected a tokenizer"));
}

TEST(ChatTemplateJson, IsATextOrTheDefaultOfSeveral) {
  EXPECT_EQ(chat_template_from_json(R"({"chat_template": "one"})", "c"), "one");
  EXPECT_EQ(chat_template_from_json(R"({"chat_template": [{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}]})", "c"), "d");
  EXPECT_EQ(chat_template_from_json(R"({"chat_template": 5})", "c"), "");
  EXPECT_EQ(chat_template_from_json("", "c"), "");
}

TEST(CheckpointFolder, BringsItsTokenizerAndItsChatTemplate) {
  testing::TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(testing::data_path("models/llama-tied")))
    std::filesystem::copy(entry.path(), folder.path());
  EXPECT_TRUE(has(open_model(folder.path()).tokenizer_problem, "no tokenizer.json"));
  const json golden = recorded("smollm");
  json config = json::parse(testing::read_text(folder.file("config.json")));
  ASSERT_GE(config["vocab_size"].get<int>(), 384);
  json small = golden["tokenizer"];  // what fits into the tiny model's rows
  const int rows = config["vocab_size"];
  auto& vocabulary = small["model"]["vocab"];
  for (auto token = vocabulary.begin(); token != vocabulary.end();)
    token = token.value().get<int>() >= rows ? vocabulary.erase(token) : std::next(token);
  json merges = json::array();
  for (const json& merge : small["model"]["merges"])
    if (vocabulary.contains(merge[0].get<std::string>() + merge[1].get<std::string>())) merges.push_back(merge);
  small["model"]["merges"] = merges;
  small["added_tokens"].erase(3);
  std::ofstream(folder.file("tokenizer.json")) << small.dump();
  std::ofstream(folder.file("tokenizer_config.json"))
      << R"({"eos_token": "<|im_end|>", "chat_template": "{% for m in messages %}<|im_start|>{{ m.content }}{{ eos_token }}{% endfor %}"})";
  const ModelFile model = open_model(folder.path());
  ASSERT_NE(model.tokenizer, nullptr) << model.tokenizer_problem;
  EXPECT_EQ(model.tokenizer->eos(), 2);
  EXPECT_EQ(model.tokenizer->decode(model.tokenizer->encode("a word", SpecialText::is_plain)), "a word");
  ASSERT_NE(model.chat_template, nullptr) << model.chat_template_problem;
}

}  // namespace
}  // namespace lynxkv::model
