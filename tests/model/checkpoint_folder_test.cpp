// Folders with config.json and safetensors: both spellings, shards, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "model/config.hpp"
#include "model/model_file.hpp"
#include "model/safetensors.hpp"
#include "model/tokenizer.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;
using testing::error_of;
using testing::has;

json llama_config() {
  return json::parse(testing::read_text(testing::data_path("models/llama/config.json")));
}

std::string refusal(const json& config) {
  const std::string text = config.dump();
  const std::string message = error_of([&] { config_from_json(text, "config.json"); });
  EXPECT_TRUE(has(message, "config.json"));
  return message;
}

TEST(ConfigJson, DerivesTheHeadDimensionWhereItIsNullOrAbsent) {
  json config = llama_config();
  config["head_dim"] = nullptr;
  EXPECT_EQ(config_from_json(config.dump(), "c").head_dim, 16);
  config.erase("head_dim");
  EXPECT_EQ(config_from_json(config.dump(), "c").head_dim, 16);
  config["head_dim"] = 32;  // need not be hidden / heads
  EXPECT_EQ(config_from_json(config.dump(), "c").head_dim, 32);
}

TEST(ConfigJson, TakesAsManyKvHeadsAsHeadsWhereItNamesNone) {
  json config = llama_config();
  config.erase("num_key_value_heads");
  EXPECT_EQ(config_from_json(config.dump(), "c").kv_heads, 4);
}

TEST(ConfigJson, ReadsRopeInBothSpellings) {
  json config = llama_config();
  config.erase("rope_parameters");
  EXPECT_EQ(config_from_json(config.dump(), "c").rope.theta, 10000.0f);
  config["rope_theta"] = 500000;
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 4}};
  const ModelConfig linear = config_from_json(config.dump(), "c");
  EXPECT_EQ(linear.rope.theta, 500000.0f);
  EXPECT_EQ(linear.rope.frequency_factors, std::vector<float>(8, 4.0f));
  config["rope_parameters"] = {{"rope_theta", 2000.0}, {"rope_type", "default"}};
  const ModelConfig newer = config_from_json(config.dump(), "c");
  EXPECT_EQ(newer.rope.theta, 2000.0f);
  EXPECT_TRUE(newer.rope.frequency_factors.empty());
}

TEST(ConfigJson, RefusesTypesThatAreWrong) {
  const std::vector<std::pair<const char*, json>> wrong = {{"hidden_size", "64"},
                                                           {"hidden_size", 64.5},
                                                           {"num_hidden_layers", nullptr},
                                                           {"num_attention_heads", true},
                                                           {"rms_norm_eps", "tiny"},
                                                           {"tie_word_embeddings", 1},
                                                           {"rope_parameters", json::array()},
                                                           {"model_type", 7},
                                                           {"vocab_size", json::object()},
                                                           {"head_dim", 4294967296},
                                                           {"hidden_act", "gelu"},
                                                           {"attention_bias", true},
                                                           {"vocab_size", -1},
                                                           {"hidden_size", 0},
                                                           {"num_key_value_heads", 3},
                                                           {"head_dim", 15},
                                                           {"rms_norm_eps", -1},
                                                           {"intermediate_size", 2000000000},
                                                           {"num_hidden_layers", 100000}};
  for (const auto& [key, value] : wrong) {
    json config = llama_config();
    config[key] = value;
    EXPECT_FALSE(refusal(config).empty()) << key << " " << value;
  }
  json config = llama_config();
  config["hidden_size"] = "64";
  EXPECT_TRUE(has(refusal(config), "expected an integer as hidden_size, found a string"));
  config = llama_config();
  config["model_type"] = "qwen2";
  EXPECT_TRUE(has(refusal(config), "expected model_type 'llama', found 'qwen2'"));
  config = llama_config();
  config["rope_parameters"]["rope_type"] = "yarn";
  EXPECT_TRUE(has(refusal(config), "found 'yarn'"));
  config = llama_config();
  config["rope_parameters"].erase("factor");
  EXPECT_TRUE(has(refusal(config), "expected a number as rope_parameters.factor, found none"));
  EXPECT_TRUE(has(refusal(json::array()), "expected an object"));
}

TEST(ConfigJson, RefusesTextThatIsNoJson) {
  for (const char* text : {"", "{", "{\"model_type\": \"llama\"", "\xff", "{} {}", "{\"a\":1,\"a\":2}"})
    EXPECT_FALSE(error_of([&] { config_from_json(text, "config.json"); }).empty()) << text;
  const std::string deep(100000, '[');
  EXPECT_FALSE(error_of([&] { config_from_json(deep, "config.json"); }).empty());
}

// The llama test model with its tensors dealt out to `shards` files.
class ShardedFolder {
 public:
  explicit ShardedFolder(std::size_t shards) {
    testing::write_text(folder.file("config.json"), llama_config().dump());
    const auto bytes = testing::read_file(testing::data_path("models/llama/model.safetensors"));
    const Safetensors whole = read_safetensors(bytes, "model.safetensors");
    for (std::size_t s = 0; s < shards; ++s) {
      const std::string name = "part-" + std::to_string(s) + ".safetensors";
      json header;
      std::vector<std::byte> data;
      for (std::size_t i = s; i < whole.tensors.size(); i += shards) {
        const StoredTensor& tensor = whole.tensors[i];
        header[tensor.name] = {{"dtype", "F32"},
                               {"shape", tensor.shape},
                               {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
        data.insert(data.end(), tensor.bytes.begin(), tensor.bytes.end());
        map[tensor.name] = name;
      }
      const std::string text = header.dump();
      std::vector<std::byte> file(8 + text.size());
      const std::uint64_t length = text.size();
      std::memcpy(file.data(), &length, 8);
      std::memcpy(file.data() + 8, text.data(), text.size());
      file.insert(file.end(), data.begin(), data.end());
      testing::write_file(folder.file(name), file);
    }
  }
  void write_index() {
    testing::write_text(folder.file("model.safetensors.index.json"), json{{"weight_map", map}}.dump());
  }

  testing::TemporaryFolder folder;
  json map;
};

std::vector<float> all_of(const ModelFile& file, Weight weight, int layer) {
  const WeightShape shape = shape_of(file.config, weight);
  std::vector<float> out(static_cast<std::size_t>(shape.rows * shape.columns));
  file.weights->read_rows(weight, layer, 0, shape.rows, out.data());
  return out;
}

TEST(Shards, GiveTheSameWeightsAsOneFile) {
  const ModelFile single = open_model(testing::data_path("models/llama"));
  ShardedFolder sharded(3);
  for (const bool with_index : {false, true}) {
    if (with_index) sharded.write_index();
    const ModelFile file = open_model(sharded.folder.path());
    for (const Weight weight :
         {Weight::embedding, Weight::query, Weight::down, Weight::final_norm, Weight::lm_head})
      EXPECT_EQ(all_of(file, weight, 1), all_of(single, weight, 1));
  }
}

TEST(Shards, AreCheckedAgainstTheIndex) {
  ShardedFolder sharded(2);
  sharded.map["model.norm.weight"] =
      sharded.map["model.norm.weight"] == "part-0.safetensors" ? "part-1.safetensors" : "part-0.safetensors";
  sharded.write_index();
  EXPECT_TRUE(has(error_of([&] { open_model(sharded.folder.path()); }),
                  "expected tensor 'model.norm.weight' in part-"));
  sharded.map["model.norm.weight"] = "part-9.safetensors";
  sharded.write_index();
  EXPECT_TRUE(
      has(error_of([&] { open_model(sharded.folder.path()); }), "part-9.safetensors: cannot be opened"));
}

TEST(Shards, MayNotHoldATensorTwice) {
  ShardedFolder sharded(2);
  std::filesystem::copy(sharded.folder.file("part-0.safetensors"), sharded.folder.file("part-2.safetensors"));
  EXPECT_TRUE(has(error_of([&] { open_model(sharded.folder.path()); }),
                  "stands in both part-0.safetensors and part-2.safetensors"));
}

TEST(CheckpointFolderErrors, NameWhatIsMissing) {
  ShardedFolder sharded(2);
  std::filesystem::remove(sharded.folder.file("part-1.safetensors"));
  EXPECT_TRUE(has(error_of([&] { open_model(sharded.folder.path()); }), "expected a tensor '"));
  std::filesystem::remove(sharded.folder.file("part-0.safetensors"));
  EXPECT_TRUE(
      has(error_of([&] { open_model(sharded.folder.path()); }), "expected *.safetensors files, found none"));
  testing::write_text(sharded.folder.file("model.safetensors"), "");
  EXPECT_TRUE(has(error_of([&] { open_model(sharded.folder.path()); }), "found only 0 bytes"));
}

TEST(CheckpointFolderErrors, NameATensorOfAnotherShape) {
  ShardedFolder sharded(1);
  json config = llama_config();
  config["intermediate_size"] = 104;
  testing::write_text(sharded.folder.file("config.json"), config.dump());
  EXPECT_TRUE(has(error_of([&] { open_model(sharded.folder.path()); }),
                  "expected shape [104, 64] by the model's config, found [96, 64]"));
}

}  // namespace
}  // namespace lynxkv::model
