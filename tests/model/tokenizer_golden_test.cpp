// The real model's tokenizer and chat template against recorded results, id for id.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "model/chat_template.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer.hpp"
#include "tests/support/real_model.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;

class SmolLm2 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::real_model_path().empty())
      GTEST_SKIP() << "the real model is not there; jobs/fetch-model.sh fetches it";
    static const ModelFile opened = open_model(testing::real_model_path());
    static const json recorded =
        json::parse(testing::read_text(testing::data_path("tokenizer/smollm2.json")));
    file = &opened;
    golden = &recorded;
    ASSERT_NE(file->tokenizer, nullptr) << file->tokenizer_problem;
  }
  const Tokenizer& tokenizer() const { return *file->tokenizer; }

  const ModelFile* file = nullptr;
  const json* golden = nullptr;
};

TEST_F(SmolLm2, EncodesEveryTextToTheRecordedIds) {
  ASSERT_GE((*golden)["texts"].size(), 100u);
  for (const json& entry : (*golden)["texts"]) {
    const auto text = entry["text"].get<std::string>();
    EXPECT_EQ(tokenizer().encode(text, SpecialText::becomes_token), entry["ids"].get<std::vector<TokenId>>())
        << text;
  }
}

TEST_F(SmolLm2, ReadsSpecialTextAsOrdinaryCharactersWhereAUserTypedIt) {
  int with_special = 0;
  for (const json& entry : (*golden)["texts"]) {
    const auto text = entry["text"].get<std::string>();
    with_special += entry.contains("ids_plain") ? 1 : 0;
    const auto ids = entry.value("ids_plain", entry["ids"]).get<std::vector<TokenId>>();
    EXPECT_EQ(tokenizer().encode(text, SpecialText::is_plain), ids) << text;
  }
  EXPECT_GE(with_special, 5);
}

TEST_F(SmolLm2, DecodesToTheRecordedTexts) {
  for (const json& entry : (*golden)["texts"])
    EXPECT_EQ(tokenizer().decode(entry["ids"].get<std::vector<TokenId>>()),
              entry["decoded"].get<std::string>());
}

TEST_F(SmolLm2, ReplacesWhatBeginsOrEndsInsideACharacter) {
  for (const json& entry : (*golden)["decode_only"])
    EXPECT_EQ(tokenizer().decode(entry["ids"].get<std::vector<TokenId>>()),
              entry["decoded"].get<std::string>())
        << entry["ids"].dump();
}

TEST_F(SmolLm2, RendersConversationsByteForByte) {
  ASSERT_NE(file->chat_template, nullptr) << file->chat_template_problem;
  for (const json& entry : (*golden)["chat"]) {
    std::vector<ChatMessage> messages;
    for (const json& message : entry["messages"]) messages.push_back({message["role"], message["content"]});
    const std::string text = file->chat_template->render(messages, entry["add_generation_prompt"]);
    EXPECT_EQ(text, entry["rendered"].get<std::string>());
    EXPECT_EQ(tokenizer().encode(text, SpecialText::becomes_token), entry["ids"].get<std::vector<TokenId>>());
  }
}

TEST_F(SmolLm2, KnowsItsSpecialTokens) {
  EXPECT_EQ(tokenizer().vocabulary_size(), 49152);
  EXPECT_FALSE(tokenizer().adds_bos());
  EXPECT_EQ(tokenizer().bos(), 1);
  EXPECT_EQ(tokenizer().eos(), 2);
  EXPECT_TRUE(tokenizer().is_end(2));
  EXPECT_TRUE(tokenizer().is_end(0));
  EXPECT_FALSE(tokenizer().is_end(1));
  EXPECT_EQ(tokenizer().decode(std::vector<TokenId>{1, 19556, 2}), "<|im_start|>Hello<|im_end|>");
  EXPECT_EQ(tokenizer().decode(std::vector<TokenId>{1, 19556, 2}, true), "Hello");
}

TEST_F(SmolLm2, RefusesIdsOutsideTheVocabulary) {
  EXPECT_THROW(tokenizer().decode(std::vector<TokenId>{49152}), Error);
  EXPECT_THROW(tokenizer().decode(std::vector<TokenId>{-1}), Error);
}

}  // namespace
}  // namespace lynxkv::model
