// The protocol on a small model: what leaves the KV alone changes no answer, what does not is seen.
#include "quality/reference.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "quality/prefill.hpp"
#include "quality/study.hpp"
#include "tests/support/test_data.hpp"

namespace lynxkv::quality {
namespace {

constexpr const char* model_path = LYNXKV_TEST_DATA "/models/llama";

Document document(int tokens) {
  Document text{"numbers", {}};
  for (int i = 0; i < tokens; ++i) text.tokens.push_back((i * 37 + i / 11) % 320);
  return text;
}

class SmallModel : public ::testing::TestWithParam<model::Precision> {
 protected:
  const model::ModelFile file_ = model::open_model(model_path);
  model::Forward forward_{file_, {GetParam(), model::best_isa(), 2}};
};

TEST_P(SmallModel, AnswersTheSameOnKvThatComesBackUnchanged) {
  Reference reference(forward_, document(290), 12);
  EXPECT_EQ(reference.continuation().size(), 12u);
  EXPECT_EQ(reference.capture().tokens, 290);
  if (GetParam() != model::Precision::bf16) return;  // a float32 KV is rounded on its way
  for (const char* codec : {"bf16", "lynx-exact"}) {
    const Outcome outcome = reference.examine(*codec::make_codec(codec, {}));
    const Agreement& agreement = outcome.levels.back().agreement;
    EXPECT_EQ(agreement.kl, 0) << codec;
    EXPECT_DOUBLE_EQ(agreement.argmax, 1) << codec;
    EXPECT_EQ(agreement.attention, 0) << codec;
  }
}

TEST_P(SmallModel, SeesADraftsErrorsMoreThanTheFullLevels) {
  Reference reference(forward_, document(290), 12);
  const auto codec = codec::make_codec("lynx", {});
  const Outcome once = reference.examine(*codec), again = reference.examine(*codec);
  ASSERT_EQ(once.levels.size(), 2u);
  EXPECT_GT(once.levels[0].agreement.kl, once.levels[1].agreement.kl);
  EXPECT_GT(once.levels[0].agreement.attention, 10 * once.levels[1].agreement.attention);
  EXPECT_GT(once.levels[1].agreement.attention, 0);
  EXPECT_EQ(once.levels[0].agreement.kl, again.levels[0].agreement.kl);  // nothing is left behind by the first
}

TEST_P(SmallModel, IsComparedCodecByCodecOverDocuments) {
  std::vector<Variant> variants;
  for (const char* text : {"int4", "int8", "lynx"}) variants.push_back(parse_variant(text, {}));
  Study study(std::move(variants));
  EXPECT_TRUE(study.summaries().empty());
  for (const int tokens : {100, 260}) {
    Reference reference(forward_, document(tokens), 8);
    study.add(reference);
  }
  const auto summaries = study.summaries();
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_DOUBLE_EQ(summaries[0].levels[0].kl_ratio.value, 1);
  EXPECT_EQ(summaries[0].levels[0].argmax_gain.value, 0);
  EXPECT_LT(summaries[1].levels[0].kl_ratio.value, 1);
  EXPECT_EQ(summaries[2].levels.size(), 2u);
  EXPECT_LT(summaries[2].levels[0].bits, summaries[2].levels[1].bits);
}

TEST_P(SmallModel, RefusesAPromptThatLeavesNoRoom) {
  const int most = forward_.config().context_tokens;
  EXPECT_NO_THROW(Reference(forward_, document(most - 4), 4));
  try {
    Reference reference(forward_, document(most - 3), 4);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, SmallModel, ::testing::Values(model::Precision::bf16, model::Precision::float32));

}  // namespace
}  // namespace lynxkv::quality
