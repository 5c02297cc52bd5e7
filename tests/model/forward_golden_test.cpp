// The forward pass against logits that an independent implementation computed.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/forward.hpp"
#include "tests/model/forward_runs.hpp"
#include "tests/support/real_model.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;
using testing::all_logits;
using testing::continue_greedily;
using testing::OneSequence;

json read_json(const std::string& path) {
  return json::parse(testing::read_text(testing::data_path(path)));
}

// One thread: other tests may run beside these, and forward_exactness_test shows that threads do not matter.
ForwardOptions options(Precision precision, Isa isa) { return {precision, isa, 1}; }

// Folders with the model in both spellings of its config.
struct Checkpoint {
  std::string name;
  std::string config;
  testing::TemporaryFolder folder;
  Checkpoint(std::string model, const std::string& spelling) : name(std::move(model)), config(spelling) {
    for (const auto& [from, to] : {std::pair<std::string, std::string>{spelling, "config.json"},
                                   {"model.safetensors", "model.safetensors"}})
      std::filesystem::copy_file(testing::data_path("models/" + name + "/" + from), folder / to);
  }
};

class GoldenModel : public ::testing::TestWithParam<std::tuple<const char*, const char*, Isa>> {};

TEST_P(GoldenModel, GivesItsLogitsAndContinuationWholeInChunksAndTokenByToken) {
  const auto& [name, spelling, isa] = GetParam();
  if (isa < best_isa()) GTEST_SKIP() << "this CPU has no " << name_of(isa);
  const Checkpoint checkpoint(name, spelling);
  const json golden = read_json("models/" + checkpoint.name + "/golden.json");
  const auto tokens = golden.at("input_ids").get<std::vector<TokenId>>();
  Forward forward(open_model(checkpoint.folder.path()), options(Precision::float32, isa));
  const auto vocab = static_cast<std::size_t>(forward.config().vocab);
  for (const std::size_t chunk : {0u, 32u, 7u, 1u}) {
    OneSequence sequence(forward, 32);
    const auto logits = all_logits(forward, sequence.kv, tokens, chunk);
    for (const auto& [position, expected] : golden.at("logits").items())
      for (std::size_t id = 0; id < vocab; ++id)
        ASSERT_NEAR(logits[std::stoul(position) * vocab + id], expected.at(id).get<float>(), 5e-4)
            << position << ", id " << id << ", chunk " << chunk;
    const auto greedy = continue_greedily(forward, sequence.kv, std::span(logits).last(vocab), 32);
    EXPECT_EQ(greedy.tokens, golden.at("greedy_continuation").get<std::vector<TokenId>>());
    for (std::size_t i = 0; i < greedy.tokens.size(); ++i)
      EXPECT_NEAR(greedy.top_logits[i], golden.at("continuation_top1_logits").at(i).get<float>(), 5e-4) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Llama, GoldenModel,
                         ::testing::Combine(::testing::Values("llama", "llama-tied"),
                                            ::testing::Values("config.json", "config_hub.json"),
                                            ::testing::Values(Isa::amx, Isa::avx512_bf16, Isa::avx512,
                                                              Isa::avx2)),
                         [](const auto& run) {
                           const std::string config = std::get<1>(run.param);
                           return std::string(std::get<0>(run.param) == std::string("llama") ? "llama" : "llama_tied") +
                                  (config == "config.json" ? "_config_" : "_config_hub_") +
                                  std::string(name_of(std::get<2>(run.param)));
                         });

class RealModel : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (testing::real_model_path().empty())
      GTEST_SKIP() << "run jobs/fetch-model.sh to test with the real model";
    if (GetParam() < best_isa()) GTEST_SKIP() << "this CPU has no " << name_of(GetParam());
  }
};

void expect_logits(const json& golden, std::span<const float> logits, double tolerance) {
  for (const auto& pair : golden.at("top"))
    EXPECT_NEAR(logits[pair.at(0).get<std::size_t>()], pair.at(1).get<float>(), tolerance);
  const auto& every = golden.at("every_97th");
  for (std::size_t i = 0; i < every.size(); ++i)
    EXPECT_NEAR(logits[i * 97], every.at(i).get<float>(), tolerance) << "id " << i * 97;
}

double negative_log_likelihood(std::span<const float> logits, TokenId token) {
  const double largest = static_cast<double>(logits[static_cast<std::size_t>(argmax(logits))]);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(total) - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

// Runs the golden text in chunks; logits where the file has them are compared if a tolerance is given.
double mean_nll_of_text(Forward& forward, const json& text, double tolerance) {
  const auto tokens = text.at("input_ids").get<std::vector<TokenId>>();
  const auto vocab = static_cast<std::size_t>(forward.config().vocab);
  OneSequence sequence(forward);
  double sum = 0;
  for (std::size_t first = 0; first < tokens.size(); first += 256) {
    const auto part = std::span(tokens).subspan(first, std::min<std::size_t>(256, tokens.size() - first));
    const SequenceRows batch[] = {{&sequence.kv, part, static_cast<int>(part.size())}};
    const auto logits = forward.run(batch);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto row = logits.subspan(i * vocab, vocab);
      const auto golden = text.at("logits").find(std::to_string(first + i));
      if (tolerance > 0 && golden != text.at("logits").end()) {
        SCOPED_TRACE("position " + golden.key());
        expect_logits(*golden, row, tolerance);
      }
      if (first + i + 1 < tokens.size()) sum += negative_log_likelihood(row, tokens[first + i + 1]);
    }
  }
  return sum / static_cast<double>(tokens.size() - 1);
}

TEST_P(RealModel, AgreesWithTheReferenceInFloat32) {
  const json golden = read_json("smollm2/float32.json");
  Forward forward(open_model(testing::real_model_path()), options(Precision::float32, GetParam()));
  const auto vocab = static_cast<std::size_t>(forward.config().vocab);
  EXPECT_NEAR(mean_nll_of_text(forward, golden.at("text"), 1e-3),
              golden.at("text").at("mean_nll").get<double>(), 1e-5);

  const auto tokens = golden.at("chat").at("input_ids").get<std::vector<TokenId>>();
  OneSequence sequence(forward);
  const auto logits = all_logits(forward, sequence.kv, tokens);
  for (const auto& [position, expected] : golden.at("chat").at("logits").items())
    expect_logits(expected, std::span(logits).subspan(std::stoul(position) * vocab, vocab), 1e-3);
  EXPECT_EQ(continue_greedily(forward, sequence.kv, std::span(logits).last(vocab), 64).tokens,
            golden.at("chat").at("greedy").get<std::vector<TokenId>>());
}

TEST_P(RealModel, LosesLessThanHalfAPercentOfPerplexityInBf16) {
  const json golden = read_json("smollm2/float32.json");
  Forward forward(open_model(testing::real_model_path()), options(Precision::bf16, GetParam()));
  const double perplexity = std::exp(mean_nll_of_text(forward, golden.at("text"), 0));
  const double expected = golden.at("text").at("perplexity").get<double>();
  RecordProperty("perplexity", std::to_string(perplexity));
  EXPECT_NEAR(perplexity, expected, 0.005 * expected);
  EXPECT_LE(forward.weight_bytes(), 2u * 135'000'000u);  // once, in bf16
}

INSTANTIATE_TEST_SUITE_P(EveryPath, RealModel,
                         ::testing::Values(Isa::amx, Isa::avx512_bf16, Isa::avx512, Isa::avx2),
                         [](const auto& path) { return std::string(name_of(path.param)); });

}  // namespace
}  // namespace lynxkv::model
