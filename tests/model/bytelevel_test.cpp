// The parts of the byte-level tokenizer, on cases that fit on a hand.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "model/bpe.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer_bytelevel.hpp"
#include "model/tokenizer_specials.hpp"
#include "model/tokenizer_spelling.hpp"
#include "model/unicode.hpp"
#include "tests/model/gguf_builder.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/real_model.hpp"

namespace lynxkv::model {
namespace {

std::vector<std::string> pieces(SplitRule rule, std::string_view text) {
  std::vector<std::string> out;
  split(rule, text, [&](std::string_view piece) { out.emplace_back(piece); });
  return out;
}
using Pieces = std::vector<std::string>;

TEST(Split, CutsEveryNumberCharacterOffFirst) {
  EXPECT_EQ(pieces(SplitRule::smollm, "a  1"), (Pieces{"a", "  ", "1"}));
  EXPECT_EQ(pieces(SplitRule::smollm, "12\xc2\xb2"), (Pieces{"1", "2", "\xc2\xb2"}));
  EXPECT_EQ(pieces(SplitRule::gpt2, "a  12"), (Pieces{"a", " ", " 12"}));
}

TEST(Split, LeavesTheLastSpaceOfARunToTheWord) {
  EXPECT_EQ(pieces(SplitRule::gpt2, "a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(pieces(SplitRule::gpt2, "a\n\nb"), (Pieces{"a", "\n", "\n", "b"}));
  EXPECT_EQ(pieces(SplitRule::gpt2, "a  "), (Pieces{"a", "  "}));
  EXPECT_EQ(pieces(SplitRule::gpt2, " !b"), (Pieces{" !", "b"}));
}

TEST(Split, KnowsContractions) {
  EXPECT_EQ(pieces(SplitRule::gpt2, "don't we'LL"), (Pieces{"don", "'t", " we", "'", "LL"}));
  EXPECT_EQ(pieces(SplitRule::llama3, "don't we'LL"), (Pieces{"don", "'t", " we", "'LL"}));
}

TEST(Split, FollowsTheNewerPattern) {
  EXPECT_EQ(pieces(SplitRule::llama3, "1234567"), (Pieces{"123", "456", "7"}));
  EXPECT_EQ(pieces(SplitRule::qwen2, "12"), (Pieces{"1", "2"}));
  EXPECT_EQ(pieces(SplitRule::llama3, "(a) = b;\n\n c"), (Pieces{"(a", ")", " =", " b", ";\n\n", " c"}));
  EXPECT_EQ(pieces(SplitRule::llama3, "a \n \n  b"), (Pieces{"a", " \n \n", " ", " b"}));
}

TEST(Split, GivesBackAllBytesOfAnyText) {
  std::mt19937 random(1);
  const std::string alphabet = " \n\t'ab1.\xc3\xa9\xff\xe3\x80\x80sS";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i) text += alphabet[random() % alphabet.size()];
    for (const SplitRule rule : {SplitRule::gpt2, SplitRule::smollm, SplitRule::llama3, SplitRule::qwen2}) {
      std::string joined;
      for (const std::string& piece : pieces(rule, text)) {
        ASSERT_FALSE(piece.empty());
        joined += piece;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

TEST(Utf8, ReplacesEachMaximalBrokenPartOnce) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(with_replacements("a\xc3\xa9z"), "a\xc3\xa9z");
  EXPECT_EQ(with_replacements("\xff\xff"), r + r);
  EXPECT_EQ(with_replacements("\xe2\x82z"), r + "z");  // two bytes of three
  EXPECT_EQ(with_replacements("\xf0\x9f\x98"), r);     // three of four
  EXPECT_EQ(with_replacements("\xe2\xe2\x82\xac"), r + "\xe2\x82\xac");
  EXPECT_EQ(with_replacements("\xc0\x80"), r + r);                  // overlong
  EXPECT_EQ(with_replacements("\xed\xa0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(with_replacements("\xf4\x90\x80\x80"), r + r + r + r);  // past the last character
}

TEST(Utf8, WritesWhatItReads) {
  for (const char32_t code : {U'\0', U'a', char32_t{0x7f}, char32_t{0x80}, char32_t{0x7ff}, char32_t{0x800},
                              char32_t{0xffff}, char32_t{0x10000}, char32_t{0x10ffff}}) {
    std::string text;
    append_utf8(text, code);
    EXPECT_EQ(character_at(text, 0).code, code);
    EXPECT_EQ(character_at(text, 0).bytes, text.size());
    EXPECT_TRUE(is_utf8(text));
  }
  EXPECT_FALSE(is_utf8("a\xed\xa0\x80"));
}

TEST(Spelling, IsUndone) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  EXPECT_EQ(unspell(spell(bytes)), bytes);
  EXPECT_EQ(spell(" a\n"),
            "\xc4\xa0"
            "a\xc4\x8a");
  EXPECT_FALSE(unspell("a b").has_value());
}

TEST(Bpe, MergesTheFirstListedFirstAndTheLeftmostOfEquals) {
  std::array<TokenId, 256> bytes;
  bytes.fill(-1);
  bytes['a'] = 0;
  bytes['b'] = 1;
  const std::vector<Merge> merges = {{0, 1, 2}, {0, 0, 3}, {3, 3, 4}, {2, 2, 5}};  // ab, aa, aaaa, abab
  const Bpe bpe(bytes, merges);
  const auto encode = [&](std::string_view piece) {
    std::vector<TokenId> ids;
    bpe.encode(piece, ids);
    return ids;
  };
  EXPECT_EQ(encode(""), (std::vector<TokenId>{}));
  EXPECT_EQ(encode("aab"), (std::vector<TokenId>{0, 2}));  // ab before aa
  EXPECT_EQ(encode("aaa"), (std::vector<TokenId>{3, 0}));  // the left pair
  EXPECT_EQ(encode("aaaa"), (std::vector<TokenId>{4}));
  EXPECT_EQ(encode("aaaaa"), (std::vector<TokenId>{4, 0}));
  EXPECT_EQ(encode("abab"), (std::vector<TokenId>{5}));
  EXPECT_EQ(encode("axb"), (std::vector<TokenId>{2}));  // a byte without a token vanishes before merging
  EXPECT_EQ(encode("x"), (std::vector<TokenId>{}));
}

TEST(SpecialTexts, FindTheLongestAtTheLeftmostPlace) {
  SpecialTexts specials;
  specials.add("<a>", 1);
  specials.add("<a>b", 2);
  specials.add("", 3);
  EXPECT_EQ(specials.find("x<a>bc", 0).id, 2);
  EXPECT_EQ(specials.find("x<a>bc", 0).begin, 1u);
  EXPECT_EQ(specials.find("x<a>bc", 0).end, 5u);
  EXPECT_EQ(specials.find("<a<a>", 0).begin, 2u);
  EXPECT_EQ(specials.find("<a", 0).id, -1);
}

std::unique_ptr<Tokenizer> tiny_tokenizer(std::vector<std::int32_t> kinds = {}) {
  testing::GgufBuilder builder = testing::tiny_model();
  if (!kinds.empty()) builder.integers("tokenizer.ggml.token_type", kinds);
  const auto bytes = builder.bytes();
  std::string problem;
  return tokenizer_from_gguf(Gguf(bytes, "tiny"), problem);
}

TEST(ByteLevel, EncodesAndDecodesByHand) {
  const auto tokenizer = tiny_tokenizer();
  EXPECT_EQ(tokenizer->encode("abc ade1", SpecialText::becomes_token), (std::vector<TokenId>{9, 10, 11, 7}));
  EXPECT_EQ(tokenizer->encode("\xc3\xa9", SpecialText::becomes_token), (std::vector<TokenId>{15}));
  EXPECT_EQ(tokenizer->encode("a<|end|>b", SpecialText::becomes_token), (std::vector<TokenId>{1, 0, 2}));
  EXPECT_EQ(tokenizer->encode("a<|end|>b", SpecialText::is_plain),
            (std::vector<TokenId>{1, 5, 4, 2}));  // most has no token
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{9, 10, 11, 13, 0}), "abc ade\xef\xbf\xbd<|end|>");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{13, 14, 0}, true), "\xc3\xa9");
  EXPECT_EQ(tokenizer->eos(), 0);
  EXPECT_TRUE(tokenizer->is_end(0));
}

TEST(ByteLevel, ReadsAddedWordsInBothModes) {
  std::vector<std::int32_t> kinds(16, 1);
  kinds[0] = 4;  // user-defined: part of the language, not a control token
  const auto tokenizer = tiny_tokenizer(kinds);
  EXPECT_EQ(tokenizer->encode("a<|end|>b", SpecialText::is_plain), (std::vector<TokenId>{1, 0, 2}));
}

TEST(ByteLevel, HasAHashThatSaysWhatItIs) {
  EXPECT_EQ(tiny_tokenizer()->hash(), tiny_tokenizer()->hash());
  std::vector<std::int32_t> kinds(16, 1);
  kinds[0] = 3;
  kinds[5] = 5;
  EXPECT_NE(tiny_tokenizer()->hash(), tiny_tokenizer(kinds)->hash());
}

TEST(ByteLevel, EncodesLongTextsInNearlyLinearTime) {
  if (testing::real_model_path().empty())
    GTEST_SKIP() << "the real model is not there; jobs/fetch-model.sh fetches it";
  const ModelFile file = open_model(testing::real_model_path());
  const auto seconds = [&](const std::string& text) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(file.tokenizer->encode(text, SpecialText::becomes_token).empty());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // One piece of such a size would take minutes where each merge looked at all neighbours.
  EXPECT_LT(seconds(std::string(300'000, 'a')), 10.0);
  EXPECT_LT(seconds(std::string(300'000, ' ')), 10.0);
  EXPECT_LT(seconds(std::string(300'000, '<')), 10.0);
  std::string words;
  while (words.size() < 300'000) words += "The ferry left the island at ten past six, an hour later. ";
  EXPECT_LT(seconds(words), 5.0);
}

}  // namespace
}  // namespace lynxkv::model
