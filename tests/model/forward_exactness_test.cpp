// What verification rests on: a row's logits are the same bits however it is computed.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/forward.hpp"
#include "tests/model/forward_runs.hpp"
#include "tests/support/real_model.hpp"

namespace lynxkv::model {
namespace {

using testing::all_logits;
using testing::OneSequence;

// The first start decides how many threads there can be, and other tests of this binary want one.
class StartWithAllThreads : public ::testing::Environment {
  void SetUp() override { kernels::start_runtime(testing::test_threads, best_isa()); }
};
[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new StartWithAllThreads);

std::vector<TokenId> some_tokens(int count, int vocab, int seed) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<TokenId>((i * i * 31 + i * 7 + static_cast<std::size_t>(seed)) %
                                     static_cast<std::size_t>(vocab));
  return tokens;
}

::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " against " << b.size() << " values";
  if (std::memcmp(a.data(), b.data(), a.size_bytes()) == 0) return ::testing::AssertionSuccess();
  std::size_t i = 0;
  while (a[i] == b[i]) ++i;
  return ::testing::AssertionFailure() << "value " << i << ": " << a[i] << " against " << b[i];
}

// Runs the body for both precisions on every path of this CPU.
template <class Body>
void on_every_path_of(const ModelFile& file, Body&& body) {
  for (const Isa isa : {Isa::amx, Isa::avx512_bf16, Isa::avx512, Isa::avx2})
    for (const Precision precision : {Precision::bf16, Precision::float32}) {
      if (isa < best_isa()) continue;
      SCOPED_TRACE(std::string(name_of(isa)) + (precision == Precision::bf16 ? " bf16" : " float32"));
      Forward forward(file, {precision, isa, testing::test_threads});
      body(forward);
    }
}

// Heads of 32 channels go through the bf16 dot products where the CPU has them, heads of 24 never.
template <class Body>
void on_every_path(Body&& body) {
  for (const int head_dim : {24, 32}) {
    SCOPED_TRACE("head_dim " + std::to_string(head_dim));
    on_every_path_of(testing::random_model(2, head_dim), body);
  }
}

void expect_same_whole_in_chunks_and_single(Forward& forward, int length,
                                            std::span<const std::size_t> chunks) {
  const auto tokens = some_tokens(length, forward.config().vocab, 1);
  OneSequence whole(forward);
  const auto expected = all_logits(forward, whole.kv, tokens);
  for (const std::size_t chunk : chunks) {
    OneSequence again(forward);
    EXPECT_TRUE(same_bits(all_logits(forward, again.kv, tokens, chunk), expected)) << "chunks of " << chunk;
  }
}

TEST(ForwardExactness, WholeInChunksAndTokenByTokenAreTheSameBits) {
  const std::size_t chunks[] = {1, 2, 31, 32, 33, 255, 256, 257};
  on_every_path([&](Forward& forward) { expect_same_whole_in_chunks_and_single(forward, 600, chunks); });
}

TEST(ForwardExactness, AVerificationPassEqualsSingleSteps) {
  on_every_path([](Forward& forward) {
    const auto vocab = static_cast<std::size_t>(forward.config().vocab);
    for (const int prompt : {1, 63, 257, 511}) {
      const auto tokens = some_tokens(prompt + 65, forward.config().vocab, prompt);
      // Prompt pages are sealed behind N - 1 tokens; the last prompt token begins a page of its own.
      const auto prefill = [&](OneSequence& sequence) {
        const SequenceRows batch[] = {
            {&sequence.kv, std::span(tokens).first(static_cast<std::size_t>(prompt)), 0}};
        EXPECT_TRUE(forward.run(batch).empty());
        sequence.kv.seal();
      };
      OneSequence single(forward);
      prefill(single);
      const auto expected = all_logits(forward, single.kv, std::span(tokens).last(65), 1);
      for (const std::size_t rows : {65u, 64u, 17u, 8u, 2u}) {
        OneSequence pass(forward);
        prefill(pass);
        const auto logits =
            all_logits(forward, pass.kv, std::span(tokens).subspan(static_cast<std::size_t>(prompt), rows));
        EXPECT_TRUE(same_bits(logits, std::span(expected).first(rows * vocab)))
            << "prompt " << prompt << ", " << rows << " rows";
        // A rejected draft leaves no trace: drop half of the pass and go on.
        pass.kv.truncate(prompt + static_cast<int>(rows / 2));
        const auto rest = all_logits(
            forward, pass.kv, std::span(tokens).subspan(static_cast<std::size_t>(prompt) + rows / 2), 1);
        EXPECT_TRUE(same_bits(rest, std::span(expected).subspan(rows / 2 * vocab)));
      }
    }
  });
}

TEST(ForwardExactness, NeighboursInABatchDoNotMatter) {
  on_every_path([](Forward& forward) {
    const auto vocab = static_cast<std::size_t>(forward.config().vocab);
    const int lengths[] = {1, 300, 33, 70, 5};
    std::vector<std::vector<TokenId>> tokens;
    std::vector<std::vector<float>> alone;
    for (const int length : lengths) {
      tokens.push_back(some_tokens(length + 8, forward.config().vocab, length));
      OneSequence sequence(forward);
      alone.push_back(all_logits(forward, sequence.kv, tokens.back()));
    }
    std::vector<OneSequence> together;
    together.reserve(std::size(lengths));
    for (std::size_t i = 0; i < std::size(lengths); ++i) together.emplace_back(forward);
    const auto run = [&](std::span<const std::size_t> first, std::span<const std::size_t> count) {
      std::vector<SequenceRows> batch;
      for (std::size_t i = 0; i < together.size(); ++i) {
        if (count[i] == 0) continue;
        batch.push_back(
            {&together[i].kv, std::span(tokens[i]).subspan(first[i], count[i]), static_cast<int>(count[i])});
      }
      const auto logits = forward.run(batch);
      std::size_t at = 0;
      for (std::size_t i = 0; i < together.size(); ++i) {
        EXPECT_TRUE(same_bits(logits.subspan(at, count[i] * vocab),
                              std::span(alone[i]).subspan(first[i] * vocab, count[i] * vocab)))
            << "sequence " << i;
        at += count[i] * vocab;
      }
    };
    const std::size_t zero[] = {0, 0, 0, 0, 0}, prompts[] = {1, 300, 33, 70, 5};
    run(zero, prompts);
    const std::size_t ragged[] = {1, 0, 8, 3, 1}, after[] = {2, 300, 41, 73, 6}, rest[] = {7, 8, 0, 5, 7};
    run(prompts, ragged);
    run(after, rest);
  });
}

TEST(ForwardExactness, TheNumberOfThreadsDoesNotMatter) {
  for (const int head_dim : {24, 32}) {
    const ModelFile file = testing::random_model(2, head_dim);
    const auto tokens = some_tokens(300, file.config.vocab, 1);
    on_every_path_of(file, [&](Forward& forward) {
      OneSequence two(forward);
      const auto expected = all_logits(forward, two.kv, tokens, 100);
      Forward fewer(file, {forward.options().precision, forward.options().isa, 1});
      OneSequence one(fewer);
      EXPECT_TRUE(same_bits(all_logits(fewer, one.kv, tokens, 100), expected));
    });
  }
}

TEST(ForwardExactness, HoldsForTheRealModel) {
  if (testing::real_model_path().empty())
    GTEST_SKIP() << "run jobs/fetch-model.sh to test with the real model";
  const std::size_t chunks[] = {1, 17, 65};
  Forward forward(open_model(testing::real_model_path()),
                  {Precision::bf16, best_isa(), testing::test_threads});
  expect_same_whole_in_chunks_and_single(forward, 300, chunks);
}

TEST(Forward, GivesLogitsForTheWantedRowsOnly) {
  const ModelFile file = testing::random_model();
  Forward forward(file, {Precision::float32, best_isa(), testing::test_threads});
  const auto vocab = static_cast<std::size_t>(forward.config().vocab);
  const auto tokens = some_tokens(9, forward.config().vocab, 1);
  OneSequence all(forward), last(forward), none(forward);
  const auto expected = all_logits(forward, all.kv, tokens);
  const SequenceRows batch[] = {{&none.kv, tokens, 0}, {&last.kv, tokens, 2}};
  EXPECT_TRUE(same_bits(forward.run(batch), std::span(expected).last(2 * vocab)));
  EXPECT_EQ(none.kv.length(), 9);
}

TEST(Forward, CallsTheHookWhenALayersRowsAreWritten) {
  const ModelFile file = testing::random_model(3);
  Forward forward(file, {Precision::bf16, best_isa(), testing::test_threads});
  const auto tokens = some_tokens(40, forward.config().vocab, 1);
  OneSequence sequence(forward, 32);
  const auto channels = static_cast<std::size_t>(forward.geometry(32, 32).channels());
  std::vector<std::vector<std::byte>> seen;
  const SequenceRows batch[] = {{&sequence.kv, tokens, 1}};
  const auto copy = [&](int layer) {
    const auto* row = sequence.kv.row(layer, page::Kind::value, 39);
    return std::vector<std::byte>(row, row + channels * 2);
  };
  forward.run(batch, [&](int layer) {
    EXPECT_EQ(layer, static_cast<int>(seen.size()));
    seen.push_back(copy(layer));
  });
  ASSERT_EQ(seen.size(), 3u);
  for (int layer = 0; layer < 3; ++layer) EXPECT_EQ(seen[static_cast<std::size_t>(layer)], copy(layer));
}

TEST(Forward, StopsLoadingWhenProgressThrows) {
  const ModelFile file = testing::random_model();
  std::vector<double> fractions;
  const auto stop = [&](double fraction) {
    fractions.push_back(fraction);
    if (fractions.size() == 2) throw std::runtime_error("stop");
  };
  EXPECT_THROW(Forward(file, {Precision::bf16, best_isa(), testing::test_threads}, stop), std::runtime_error);
  ASSERT_EQ(fractions.size(), 2u);
  EXPECT_LT(fractions[0], fractions[1]);
}

TEST(Forward, NamesTheNearestPathForOneThatDoesNotExist) {
  EXPECT_EQ(isa_from("auto"), best_isa());
  EXPECT_EQ(isa_from("avx2"), Isa::avx2);
  EXPECT_THROW(isa_from("avx513"), Error);
}

}  // namespace
}  // namespace lynxkv::model
