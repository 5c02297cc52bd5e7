#include "spec/speculator.hpp"

#include <gtest/gtest.h>

#include "spec/fake_model.hpp"

namespace lynxkv::spec {
namespace {

using testing::Choice;
using testing::hashed_model;
using testing::Outcome;
using testing::Prefix;
using testing::run;

SpeculatorOptions options(int max_tokens, int cap, TokenId end = -1, int context = 1 << 20) {
  SpeculatorOptions made;
  made.max_tokens = max_tokens;
  made.cap = cap;
  made.context_tokens = context;
  made.is_end = [end](TokenId id) { return id == end; };
  return made;
}

const Prefix prompt = {3, 1, 4, 1, 5};
std::function<Fidelity(int)> target_at(int step) {
  return [step](int tick) { return tick >= step ? Fidelity::target : Fidelity::draft; };
}
const auto always_target = target_at(0);

// A draft model that agrees with the target except behind prefixes of the given lengths.
Choice wrong_behind(const Choice& target, std::vector<int> lengths) {
  return [=](const Prefix& prefix) {
    const TokenId right = target(prefix);
    for (const int length : lengths)
      if (static_cast<int>(prefix.size()) == length) return right + 1;
    return right;
  };
}

TEST(Speculator, CommitsTheTargetsChoicesOneByOneWhereTheTargetCameFirst) {
  const Choice target = hashed_model(50, 1);
  const Outcome out = run(options(3, 64), prompt, target, target, always_target);
  Prefix text = prompt;
  for (int i = 0; i < 3; ++i) text.push_back(target(text));
  EXPECT_EQ(out.speculator.committed(), Prefix(text.begin() + 5, text.end()));
  EXPECT_EQ(out.speculator.drafted(), 0);
  EXPECT_EQ(out.speculator.verifications(), 0);
  EXPECT_EQ(out.speculator.finish(), Finish::length);
  EXPECT_EQ(out.steps, 3);
}

TEST(Speculator, VerifiesAllDraftsInOnePassAndCommitsOneTokenMore) {
  const Choice target = hashed_model(50, 1);
  const Outcome out = run(options(20, 64), prompt, target, target, target_at(4));
  EXPECT_EQ(out.speculator.drafted(), 4);
  EXPECT_EQ(out.speculator.accepted(), 4);
  EXPECT_EQ(out.speculator.verifications(), 1);
  EXPECT_EQ(out.longest_step, 5);
  EXPECT_EQ(out.steps, 4 + 1 + 15);  // drafts, the pass (5 commits), single steps
}

TEST(Speculator, CommitsTheTargetsOwnTokenAtAMismatchAtTheFirstInTheMiddleAndAtTheLast) {
  const Choice target = hashed_model(50, 1);
  const Outcome truth = run(options(20, 64), prompt, target, target, always_target);
  for (const int wrong : {0, 1, 3}) {
    const Outcome out = run(options(20, 64), prompt, target, wrong_behind(target, {5 + wrong}), target_at(4));
    EXPECT_EQ(out.speculator.accepted(), wrong);
    EXPECT_EQ(out.speculator.committed(), truth.speculator.committed());
    EXPECT_EQ(out.kv.tokens, truth.kv.tokens);
  }
}

TEST(Speculator, OutputIsTheTargetsWhateverIsDraftedWheneverTheTargetComes) {
  for (std::uint64_t salt = 0; salt < 8; ++salt) {
    const Choice target = hashed_model(5, salt);
    const Outcome truth = run(options(30, 64, 4), prompt, target, target, always_target);
    for (const int cap : {0, 1, 7, 64})
      for (const int arrival : {0, 1, 2, 3, 7, 8, 29, 30, 31, 64, 100})
        for (const Choice& draft : {target, hashed_model(5, salt + 100), Choice([](const Prefix&) { return 4; }),
                                    wrong_behind(target, {9, 12})}) {
          const Outcome out = run(options(30, cap, 4), prompt, target, draft, target_at(arrival));
          ASSERT_EQ(out.speculator.committed(), truth.speculator.committed()) << salt << " " << cap << " " << arrival;
          ASSERT_EQ(out.speculator.finish(), truth.speculator.finish());
          ASSERT_EQ(out.kv.tokens, truth.kv.tokens);
          ASSERT_LE(out.speculator.drafted(), cap);
          ASSERT_LE(out.longest_step, cap + 1);
        }
  }
}

TEST(Speculator, WaitsForTheTargetAtTheCap) {
  const Choice target = hashed_model(50, 1);
  const Outcome out = run(options(20, 2), prompt, target, target, target_at(50));
  EXPECT_EQ(out.speculator.drafted(), 2);
  Speculator waiting(options(20, 0));
  EXPECT_EQ(waiting.phase(Fidelity::none), Phase::wait_anchor);
  EXPECT_EQ(waiting.phase(Fidelity::draft), Phase::wait_target);
  EXPECT_FALSE(waiting.ready(Fidelity::draft));
  EXPECT_TRUE(waiting.ready(Fidelity::target));
}

TEST(Speculator, DoesNotDraftBehindADraftedEndToken) {
  const Choice ends = [](const Prefix&) { return 9; };
  const Choice target = hashed_model(5, 3);
  const Outcome out = run(options(20, 64, 9), prompt, target, ends, target_at(30));
  EXPECT_EQ(out.speculator.drafted(), 1);
  EXPECT_EQ(out.speculator.accepted(), 0);
  EXPECT_EQ(out.speculator.committed().size(), 20u);
}

TEST(Speculator, CommitsAnEndTokenOnlyOnceItIsVerified) {
  const Choice target = [](const Prefix& prefix) { return prefix.size() < 7 ? 1 : 9; };
  Speculator speculator([] {
    auto made = options(20, 64, 9);
    made.prompt_tokens = 7;
    return made;
  }());
  (void)speculator.next(Fidelity::draft);
  speculator.apply(std::vector<TokenId>{9}, 5);
  EXPECT_FALSE(speculator.done());
  EXPECT_TRUE(speculator.waits_for_target(Fidelity::draft));
  const Outcome out = run(options(20, 64, 9), prompt, target, target, target_at(10));
  EXPECT_EQ(out.speculator.committed(), (Prefix{1, 1, 9}));
  EXPECT_EQ(out.speculator.finish(), Finish::stop);
}

TEST(Speculator, NeverCommitsMoreThanMaxTokensFromInsideADraft) {
  const Choice target = hashed_model(50, 1);
  for (const int max_tokens : {1, 2, 5}) {
    const Outcome out = run(options(max_tokens, 64), prompt, target, target, target_at(64));
    EXPECT_EQ(static_cast<int>(out.speculator.committed().size()), max_tokens);
    EXPECT_EQ(out.speculator.drafted(), max_tokens);
    EXPECT_EQ(out.speculator.finish(), Finish::length);
  }
  EXPECT_TRUE(Speculator(options(0, 64)).done());
}

TEST(Speculator, StopsWhereTheModelsContextEnds) {
  const Choice target = hashed_model(50, 1);
  const Outcome truth = run(options(50, 64, -1, 8), prompt, target, target, always_target);
  EXPECT_EQ(truth.speculator.committed().size(), 4u);  // rows at positions 4..7
  EXPECT_EQ(truth.speculator.finish(), Finish::context);
  for (const int arrival : {1, 2, 3, 4, 5, 60}) {
    const Outcome out = run(options(50, 64, -1, 8), prompt, target, target, target_at(arrival));
    EXPECT_EQ(out.speculator.committed(), truth.speculator.committed()) << arrival;
  }
}

TEST(Speculator, CountsAnAcceptedTokenAtItsDraftTimeAndAReplacedOneAtItsCommit) {
  const Choice target = hashed_model(50, 1);
  const Outcome out = run(options(3, 64), prompt, target, wrong_behind(target, {6}), target_at(2));
  EXPECT_EQ(out.speculator.existed_ns(), (std::vector<std::int64_t>{1000, 1002, 1003}));
  EXPECT_EQ(out.speculator.committed_ns(), (std::vector<std::int64_t>{1002, 1002, 1003}));
  EXPECT_EQ(out.speculator.first_draft_ns(), 1000);
  EXPECT_EQ(out.speculator.verified_ns(), 1002);
}

TEST(Speculator, HandlesAPromptOfOneToken) {
  const Choice target = hashed_model(50, 1);
  const Outcome out = run(options(4, 64), Prefix{7}, target, target, target_at(2));
  EXPECT_EQ(out.speculator.committed().size(), 4u);
}

}  // namespace
}  // namespace lynxkv::spec
