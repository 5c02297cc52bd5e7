// GGUF files as whole models: what opens, with which values, and what is refused with which words.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/chat_template.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer.hpp"
#include "tests/model/gguf_builder.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

using testing::error_of;
using testing::GgufBuilder;
using testing::has;
using testing::tiny_model;

class GgufModel : public ::testing::Test {
 protected:
  ModelFile open(const GgufBuilder& builder) { return open_bytes(builder.bytes()); }
  ModelFile open_bytes(const std::vector<std::byte>& bytes) {
    testing::write_file(folder_.file("m.gguf"), bytes);
    return open_model(folder_.file("m.gguf"));
  }
  std::string refusal(const GgufBuilder& builder) {
    const std::string message = error_of([&] { open(builder); });
    EXPECT_TRUE(has(message, "m.gguf"));
    return message;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(GgufModel, OpensWithItsConfig) {
  const ModelFile file = open(tiny_model());
  EXPECT_EQ(file.config.name, "tiny");
  EXPECT_EQ(file.config.head_dim, 4);
  EXPECT_EQ(file.config.kv_heads, 1);
  EXPECT_EQ(file.config.vocab, 16);
  EXPECT_TRUE(file.config.tied_embeddings);
  EXPECT_TRUE(file.config.rope.frequency_factors.empty());
  ASSERT_NE(file.tokenizer, nullptr);
  EXPECT_EQ(file.chat_template, nullptr);
  EXPECT_FALSE(file.chat_template_problem.empty());
}

TEST_F(GgufModel, GivesQueryAndKeyRowsInTheOrderOfCheckpoints) {
  const ModelFile file = open(tiny_model());
  const GgufBuilder builder = tiny_model();
  const auto stored = [&](const std::string& name, int row) {
    float first = 0;
    for (const auto& tensor : builder.tensors)
      if (tensor.name == name) std::memcpy(&first, tensor.data.data() + row * 8 * 4, 4);
    return first;
  };
  // The file holds each head's rows as pairs (0, 2), (1, 3): checkpoint rows 0 1 2 3 are stored rows 0 2 1 3.
  std::vector<float> query(8 * 8), key(4 * 8), value(4 * 8);
  file.weights->read_rows(Weight::query, 0, 0, 8, query.data());
  file.weights->read_rows(Weight::key, 0, 0, 4, key.data());
  file.weights->read_rows(Weight::value, 0, 0, 4, value.data());
  const int order[] = {0, 2, 1, 3, 4, 6, 5, 7};
  for (int row = 0; row < 8; ++row)
    EXPECT_EQ(query[static_cast<std::size_t>(row) * 8], stored("blk.0.attn_q.weight", order[row]));
  for (int row = 0; row < 4; ++row)
    EXPECT_EQ(key[static_cast<std::size_t>(row) * 8], stored("blk.0.attn_k.weight", order[row]));
  for (int row = 0; row < 4; ++row)
    EXPECT_EQ(value[static_cast<std::size_t>(row) * 8], stored("blk.0.attn_v.weight", row));
  std::vector<float> one(8);
  file.weights->read_rows(Weight::query, 0, 5, 1, one.data());
  EXPECT_EQ(one[0], stored("blk.0.attn_q.weight", 6));
}

TEST_F(GgufModel, RefusesAFileCutAnywhere) {
  const auto whole = tiny_model().bytes();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_FALSE(error_of([&] { open_bytes(cut); }).empty()) << length;
  }
}

TEST_F(GgufModel, TakesRopeFactorsFromTheirTensorAndLinearScaling) {
  GgufBuilder builder = tiny_model();
  builder.tensor("rope_freqs.weight", {2}, {1.0f, 8.0f});
  EXPECT_EQ(open(builder).config.rope.frequency_factors, (std::vector<float>{1.0f, 8.0f}));
  GgufBuilder linear = tiny_model();
  linear.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 2.0f);
  EXPECT_EQ(open(linear).config.rope.frequency_factors, (std::vector<float>{2.0f, 2.0f}));
  linear.text("llama.rope.scaling.type", "yarn");
  EXPECT_TRUE(has(refusal(linear), "expected rope scaling 'none' or 'linear', found 'yarn'"));
  builder.find("rope_freqs.weight").dimensions = {1};
  EXPECT_TRUE(has(refusal(builder), "rope_freqs.weight"));
}

TEST_F(GgufModel, TellsTiedFromUntiedEmbeddings) {
  GgufBuilder builder = tiny_model();
  builder.tensor("output.weight", {8, 16}, std::vector<float>(128, 3.0f));
  const ModelFile file = open(builder);
  EXPECT_FALSE(file.config.tied_embeddings);
  std::vector<float> row(8);
  file.weights->read_rows(Weight::lm_head, 0, 15, 1, row.data());
  EXPECT_EQ(row[7], 3.0f);
}

TEST_F(GgufModel, NamesTheTensorThatIsMissingOrMisshapenOrUnreadable) {
  GgufBuilder missing = tiny_model();
  std::erase_if(missing.tensors, [](const auto& tensor) { return tensor.name == "blk.0.ffn_up.weight"; });
  EXPECT_TRUE(has(refusal(missing), "expected a tensor 'blk.0.ffn_up.weight', found none"));
  GgufBuilder shape = tiny_model();
  shape.find("blk.0.attn_k.weight").dimensions = {4, 8};
  EXPECT_TRUE(has(refusal(shape),
                  "'blk.0.attn_k.weight': expected shape [4, 8] by the model's config, found [8, 4]"));
  GgufBuilder type = tiny_model();
  type.find("blk.0.attn_norm.weight").type = 26;  // I32
  EXPECT_TRUE(has(refusal(type), "type I32 is not supported"));
}

TEST_F(GgufModel, RefusesWhatItWouldComputeWrongly) {
  GgufBuilder bias = tiny_model();
  bias.tensor("blk.0.attn_q.bias", {8}, std::vector<float>(8));
  EXPECT_TRUE(has(refusal(bias), "tensor 'blk.0.attn_q.bias' is not one that the llama family has"));
  EXPECT_TRUE(has(refusal(tiny_model().text("general.architecture", "qwen2")),
                  "expected architecture 'llama', found 'qwen2'"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.expert_count", 8)), "experts"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.rope.dimension_count", 2)), "partial rotation"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.vocab_size", 17)), "expected 17 rows"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.attention.head_count", 0)), "head count"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.attention.head_count_kv", 3)), "KV heads"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.block_count", 4000000000u)), "llama.block_count"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("llama.embedding_length", 2147483646)), "hidden size"));
  EXPECT_TRUE(has(refusal(tiny_model().f32("llama.rope.freq_base", std::nanf(""))), "rope theta"));
  EXPECT_TRUE(has(refusal(tiny_model().f32("llama.attention.layer_norm_rms_epsilon", 0)), "epsilon"));
  EXPECT_TRUE(
      has(refusal(tiny_model().remove("llama.context_length")), "'llama.context_length', found none"));
  EXPECT_TRUE(has(refusal(tiny_model().text("llama.block_count", "one")), "found string"));
}

TEST_F(GgufModel, NamesTheTensorThatHoldsANumberThatIsNone) {
  GgufBuilder builder = tiny_model();
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(builder.find("blk.0.ffn_down.weight").data.data() + 3 * 6 * 4, &infinity, 4);
  const ModelFile file = open(builder);
  std::vector<float> rows(8 * 6);
  EXPECT_NO_THROW(file.weights->read_rows(Weight::down, 0, 0, 3, rows.data()));
  EXPECT_TRUE(has(error_of([&] { file.weights->read_rows(Weight::down, 0, 3, 2, rows.data()); }),
                  "'blk.0.ffn_down.weight' holds a value that is not finite in rows 3 to 4"));
}

TEST_F(GgufModel, RefusesATokenizerWithIdsOutOfRange) {
  EXPECT_TRUE(has(refusal(tiny_model().u32("tokenizer.ggml.eos_token_id", 16)),
                  "token id from 0 to 15 as 'tokenizer.ggml.eos_token_id', found 16"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("tokenizer.ggml.bos_token_id", 0xffffffffu)), "found 4294967295"));
  EXPECT_TRUE(has(refusal(tiny_model().u32("tokenizer.ggml.padding_token_id", 99)), "padding_token_id"));
  EXPECT_TRUE(
      has(refusal(tiny_model().integers("tokenizer.ggml.token_type", {1, 2, 3})), "expected 16 token types"));
  std::vector<std::int32_t> kinds(16, 1);
  kinds[4] = 77;
  EXPECT_TRUE(
      has(refusal(tiny_model().integers("tokenizer.ggml.token_type", kinds)), "of token 4, found 77"));
  EXPECT_TRUE(has(refusal(tiny_model().texts("tokenizer.ggml.merges", {"a z"})),
                  "merge 0: expected tokens of the vocabulary, found 'z'"));
  EXPECT_TRUE(has(refusal(tiny_model().texts("tokenizer.ggml.merges", {"a c"})), "found 'ac'"));
  EXPECT_TRUE(
      has(refusal(tiny_model().texts("tokenizer.ggml.merges", {"ab"})), "two tokens with a space between"));
  EXPECT_TRUE(has(refusal(tiny_model().texts("tokenizer.ggml.tokens", {"a"})), "expected 1 token types"));
}

TEST_F(GgufModel, OpensWithoutATokenizerThatItDoesNotHave) {
  const ModelFile sentencepiece = open(tiny_model().text("tokenizer.ggml.model", "llama"));
  EXPECT_EQ(sentencepiece.tokenizer, nullptr);
  EXPECT_TRUE(has(sentencepiece.tokenizer_problem, "found 'llama'"));
  const ModelFile unknown = open(tiny_model().text("tokenizer.ggml.pre", "strange"));
  EXPECT_EQ(unknown.tokenizer, nullptr);
  EXPECT_TRUE(has(unknown.tokenizer_problem, "found 'strange'"));
}

TEST_F(GgufModel, OpensWithATemplateThatItDoesNotUnderstand) {
  const ModelFile file = open(tiny_model().text("tokenizer.chat_template", "{% include 'x' %}"));
  EXPECT_EQ(file.chat_template, nullptr);
  EXPECT_TRUE(has(file.chat_template_problem, "line 1: the statement 'include' is not supported"));
}

TEST_F(GgufModel, ChangesItsHashWithEveryKindOfContent) {
  const std::uint64_t hash = open(tiny_model()).content_hash;
  EXPECT_EQ(open(tiny_model()).content_hash, hash);
  EXPECT_NE(open(tiny_model().text("general.name", "other")).content_hash, hash);
  GgufBuilder data = tiny_model();
  data.find("output_norm.weight").data[0] ^= std::byte{1};
  EXPECT_NE(open(data).content_hash, hash);
}

TEST(ModelPath, IsNamedWhereNothingIsThere) {
  EXPECT_TRUE(has(error_of([] { open_model("/nonexistent/model.gguf"); }),
                  "/nonexistent/model.gguf: expected a model"));
  EXPECT_TRUE(has(error_of([] { open_model("/dev/null"); }), "expected a regular file"));
  testing::TemporaryFolder folder;
  EXPECT_TRUE(has(error_of([&] { open_model(folder.path()); }), "expected a config.json"));
}

}  // namespace
}  // namespace lynxkv::model
