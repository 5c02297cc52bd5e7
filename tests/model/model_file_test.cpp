#include "model/model_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include <cstring>

#include "base/error.hpp"
#include "model/safetensors.hpp"
#include "model/tokenizer.hpp"
#include "tests/support/real_model.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

std::vector<float> rows_of(const ModelFile& file, Weight weight, int layer) {
  const WeightShape shape = shape_of(file.config, weight);
  std::vector<float> out(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.columns));
  file.weights->read_rows(weight, layer, 0, shape.rows, out.data());
  return out;
}

TEST(CheckpointFolder, GivesTheConfigOfTheLlamaModel) {
  const ModelFile file = open_model(testing::data_path("models/llama"));
  const ModelConfig& config = file.config;
  EXPECT_EQ(config.family, "llama");
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.hidden, 64);
  EXPECT_EQ(config.intermediate, 96);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.vocab, 320);
  EXPECT_EQ(config.context_tokens, 512);
  EXPECT_EQ(config.rms_epsilon, 1e-5f);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_EQ(config.rope.theta, 10000.0f);
  EXPECT_EQ(config.rope.rotary_dim, 16);
  ASSERT_EQ(config.rope.frequency_factors.size(), 8u);
  // Wavelengths 2 pi 10000^(i/8) tokens against 64/4 = 16 and 64/1 = 64.
  EXPECT_EQ(config.rope.frequency_factors[0], 1.0f);                               // 6.3
  const double smooth = (64 / (2 * 3.14159265358979 * 3.16227766016838) - 1) / 3;  // 19.9: between
  EXPECT_NEAR(config.rope.frequency_factors[1], 1 / ((1 - smooth) / 8 + smooth), 1e-5);
  EXPECT_EQ(config.rope.frequency_factors[3], 8.0f);  // 198.7
  EXPECT_EQ(config.rope.frequency_factors[7], 8.0f);
  EXPECT_EQ(file.tokenizer, nullptr);
}

TEST(CheckpointFolder, ReadsBothSpellingsOfTheConfigAlike) {
  for (const std::string name : {"llama", "llama-tied"}) {
    testing::TemporaryFolder folder;
    std::filesystem::copy(testing::data_path("models/" + name + "/config_hub.json"),
                          folder.file("config.json"));
    std::filesystem::copy(testing::data_path("models/" + name + "/model.safetensors"),
                          folder.file("model.safetensors"));
    const ModelFile newer = open_model(testing::data_path("models/" + name));
    const ModelFile older = open_model(folder.path());
    EXPECT_EQ(newer.config.rope.theta, older.config.rope.theta);
    EXPECT_EQ(newer.config.rope.frequency_factors, older.config.rope.frequency_factors);
    EXPECT_EQ(newer.config.tied_embeddings, older.config.tied_embeddings);
    EXPECT_EQ(newer.config.head_dim, older.config.head_dim);
    EXPECT_EQ(rows_of(newer, Weight::query, 2), rows_of(older, Weight::query, 2));
  }
}

TEST(CheckpointFolder, GivesTheValuesOfItsTensors) {
  const std::string path = testing::data_path("models/llama-tied");
  const ModelFile file = open_model(path);
  const auto bytes = testing::read_file(path + "/model.safetensors");
  const Safetensors raw = read_safetensors(bytes, "test");
  for (const StoredTensor& tensor : raw.tensors) {
    if (tensor.name != "model.layers.1.self_attn.q_proj.weight") continue;
    const auto rows = rows_of(file, Weight::query, 1);
    ASSERT_EQ(rows.size() * sizeof(float), tensor.bytes.size());
    EXPECT_EQ(std::memcmp(rows.data(), tensor.bytes.data(), tensor.bytes.size()), 0);
    std::vector<float> two(2 * 64);
    file.weights->read_rows(Weight::query, 1, 5, 2, two.data());
    EXPECT_EQ(std::memcmp(two.data(), tensor.bytes.data() + 5 * 64 * 4, 2 * 64 * 4), 0);
    return;
  }
  FAIL() << "the tensor was not found";
}

TEST(RealModel, OpensWithItsHyperparameters) {
  const std::string path = testing::real_model_path();
  if (path.empty()) GTEST_SKIP() << "the real model is not there; jobs/fetch-model.sh fetches it";
  const ModelFile file = open_model(path);
  EXPECT_EQ(file.config.layers, 30);
  EXPECT_EQ(file.config.hidden, 576);
  EXPECT_EQ(file.config.intermediate, 1536);
  EXPECT_EQ(file.config.heads, 9);
  EXPECT_EQ(file.config.kv_heads, 3);
  EXPECT_EQ(file.config.head_dim, 64);
  EXPECT_EQ(file.config.vocab, 49152);
  EXPECT_EQ(file.config.context_tokens, 8192);
  EXPECT_EQ(file.config.rope.theta, 100000.0f);
  EXPECT_TRUE(file.config.tied_embeddings);
  EXPECT_EQ(rows_of(file, Weight::key, 29).size(), 192u * 576u);
  EXPECT_EQ(file.content_hash, open_model(path).content_hash);
  EXPECT_NE(file.content_hash, 0u);
}

}  // namespace
}  // namespace lynxkv::model
