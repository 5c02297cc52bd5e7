#include "suite/suite.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "suite/builtin_text.hpp"
#include "suite/haystack.hpp"
#include "suite/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::suite {
namespace {

using lynxkv::testing::TemporaryFolder;

// A tokenizer for tests: words between blanks, and how often it was asked.
struct Words {
  int calls = 0;
  int operator()(const std::string& text) {
    ++calls;
    std::istringstream in(text);
    int count = 0;
    for (std::string word; in >> word;) ++count;
    return count;
  }
};
TokenCounter words = Words();

SuiteOptions options(const std::string& task, int length = 400, int samples = 3) {
  SuiteOptions made;
  made.tasks = {task};
  made.lengths = {length};
  made.samples = samples;
  return made;
}

std::string refusal(const SuiteOptions& with, ErrorCode code) {
  try {
    make_samples(with, words);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const char* const all_tasks[] = {"niah_single",     "niah_single_text", "niah_multikey",
                                 "niah_multivalue", "niah_multiquery",  "vt"};

TEST(Random, IsSplitMix64) {
  Random random(1234567);  // the first numbers that its authors' C code gives for this seed
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, BelowReachesEveryValueAboutEquallyAndNoOther) {
  Random random(1);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(random.below(1), 0u);
}

TEST(Suite, GeneratedSamplesAreTheSameEverywhereAndEver) {
  SuiteOptions all = options("niah_single");
  all.tasks.assign(std::begin(all_tasks), std::end(all_tasks));
  std::string text;
  for (const Sample& sample : make_samples(all, words)) {
    text += sample.task + sample.prompt + sample.answer_prefix;
    for (const std::string& reference : sample.references) text += reference;
  }
  // A change here means other prompts under the same name: raise generator_version with it.
  EXPECT_EQ(hex64(hash64(text)), "09c63388eb65f556");
}

TEST(Suite, ASampleDoesNotDependOnHowManyAreMade) {
  for (const char* task : all_tasks) {
    const auto few = make_samples(options(task, 400, 2), words),
               many = make_samples(options(task, 400, 9), words);
    EXPECT_EQ(few[1].prompt, many[1].prompt);
    EXPECT_EQ(few[1].references, many[1].references);
    EXPECT_NE(many[1].prompt, many[2].prompt);
  }
}

TEST(Suite, SeedTaskLengthAndTextMakeOtherDataWithAnotherHash) {
  const auto base = make_samples(options("niah_single_text"), words).front();
  SuiteOptions other = options("niah_single_text");
  other.seed = 43;
  EXPECT_NE(make_samples(other, words).front().file_hash, base.file_hash);
  EXPECT_NE(make_samples(other, words).front().prompt, base.prompt);
  EXPECT_NE(make_samples(options("niah_single_text", 401), words).front().file_hash, base.file_hash);
  TemporaryFolder folder;
  std::ofstream(folder.file("text")) << "One. Two. Three.";
  other = options("niah_single_text");
  other.text = folder.file("text");
  EXPECT_NE(make_samples(other, words).front().file_hash, base.file_hash);
}

TEST(Suite, PromptsFillTheLengthAndNeverPassIt) {
  for (const char* task : all_tasks)
    for (const int length : {120, 255, 256, 257, 1000, 5000})
      for (const Sample& sample : make_samples(options(task, length, 2), words)) {
        const int tokens = words(sample.prompt + sample.answer_prefix);
        EXPECT_LE(tokens, length) << task;
        EXPECT_GT(tokens, length - 60) << task;  // no piece of the built-in texts is longer
        EXPECT_EQ(sample.length, length);
      }
}

TEST(Suite, FillsWithFewQuestionsToTheTokenizer) {
  Words counter;
  int guess = 0;
  const auto make = [](int n) {
    std::string text = "five words stand before it";
    for (int i = 0; i < n; ++i) text += i % 3 == 0 ? " a b c d e f g" : " h i j";
    return text;
  };
  const int n = fill_to_length(make, 100000, std::ref(counter), guess);
  EXPECT_LE(words(make(n)), 100000);
  EXPECT_GT(words(make(n + 1)), 100000);
  EXPECT_LE(counter.calls, 8);
  EXPECT_EQ(guess, n);
  counter.calls = 0;
  EXPECT_EQ(fill_to_length(make, 100000, std::ref(counter), guess), n);
  EXPECT_LE(counter.calls, 3);
  EXPECT_EQ(fill_to_length(make, 5, words, guess), 0);
  EXPECT_EQ(fill_to_length(make, 4, words, guess), -1);
}

TEST(Suite, HidesEveryNeedleOnceAndAsksForTheRightOnes) {
  const struct {
    const char* task;
    int needles;
    std::size_t answers;
  } expected[] = {{"niah_single", 1, 1},
                  {"niah_single_text", 1, 1},
                  {"niah_multikey", 4, 1},
                  {"niah_multivalue", 4, 4},
                  {"niah_multiquery", 4, 4}};
  for (const auto& [task, needles, answers] : expected)
    for (const Sample& sample : make_samples(options(task), words)) {
      EXPECT_EQ(occurrences(sample.prompt, " is: "), needles) << task;
      ASSERT_EQ(sample.references.size(), answers) << task;
      for (const std::string& reference : sample.references)
        EXPECT_EQ(occurrences(sample.prompt, reference), 1) << sample.prompt;
      EXPECT_EQ(sample.max_tokens, 128);
      EXPECT_TRUE(sample.use_template);
    }
}

TEST(Suite, HidesNeedlesAtAllDepths) {
  int early = 0, late = 0;
  for (const Sample& sample : make_samples(options("niah_single", 1000, 40), words)) {
    const double depth = static_cast<double>(sample.prompt.find(sample.references.front())) /
                         static_cast<double>(sample.prompt.size());
    early += depth < 0.3;
    late += depth > 0.7;
  }
  EXPECT_GT(early, 3);
  EXPECT_GT(late, 3);
}

TEST(Suite, TracksVariablesThroughAChainInOrder) {
  for (const Sample& sample : make_samples(options("vt"), words)) {
    ASSERT_EQ(sample.references.size(), 5u);
    EXPECT_EQ(std::set<std::string>(sample.references.begin(), sample.references.end()).size(), 5u);
    std::size_t before = 0;
    for (std::size_t i = 1; i < 5; ++i) {
      const std::size_t at =
          sample.prompt.find("VAR " + sample.references[i] + " = VAR " + sample.references[i - 1]);
      ASSERT_NE(at, std::string::npos);
      EXPECT_GT(at, before);
      before = at;
    }
    EXPECT_EQ(sample.max_tokens, 30);
  }
}

TEST(Suite, SortsByTaskLengthAndLine) {
  SuiteOptions several = options("vt");
  several.tasks = {"vt", "niah_single"};
  several.lengths = {300, 200};
  const auto samples = make_samples(several, words);
  ASSERT_EQ(samples.size(), 12u);
  EXPECT_EQ(samples.front().task, "niah_single");
  EXPECT_EQ(samples.front().length, 200);
  EXPECT_EQ(samples[2].line, 2);
  EXPECT_EQ(samples.back().length, 300);
}

TEST(Suite, TakesAnotherNumberOfTokens) {
  SuiteOptions other = options("vt");
  other.max_tokens = 7;
  EXPECT_EQ(make_samples(other, words).front().max_tokens, 7);
}

TEST(Suite, RefusesUnknownNamesWithTheNearest) {
  EXPECT_NE(refusal(options("niah_singel"), ErrorCode::usage).find("did you mean 'niah_single'"),
            std::string::npos);
  SuiteOptions other = options("vt");
  other.name = "rular";
  EXPECT_NE(refusal(other, ErrorCode::usage).find("did you mean 'ruler'"), std::string::npos);
}

TEST(Suite, RefusesLengthsThatCannotHoldTheQuestionAndNumbersBelowZero) {
  EXPECT_NE(refusal(options("niah_single", 10), ErrorCode::usage).find("needs "), std::string::npos);
  EXPECT_NE(refusal(options("vt", 0), ErrorCode::usage), "");
  EXPECT_NE(refusal(options("vt", 400, -1), ErrorCode::usage), "");
  EXPECT_NE(refusal(options("vt", 400, 0), ErrorCode::usage), "");
}

TEST(Haystack, PiecesTogetherAreTheText) {
  for (const std::string& text :
       {std::string("One. Two!  Three?\n\nFour"), std::string("3.5 is a number. So is 4."),
        std::string(2000, 'x'), std::string("é") + std::string(299, 'y') + "éé" + std::string(400, ' '),
        std::string()}) {
    std::string together;
    for (const std::string& piece : sentences_of(text)) {
      EXPECT_FALSE(piece.empty());
      EXPECT_TRUE(piece.size() == 1 || (static_cast<unsigned char>(piece[0]) & 0xc0) != 0x80)
          << "cut inside a character";
      together += piece;
    }
    EXPECT_EQ(together, text);
  }
  EXPECT_EQ(sentences_of("One. Two!  Three?\n\nFour"),
            (std::vector<std::string>{"One. ", "Two!  ", "Three?\n\n", "Four"}));
  EXPECT_EQ(sentences_of(valley_text()).size(), 46u);
}

TEST(Haystack, PutsInsertsAtTheirDepths) {
  const std::vector<std::string> pieces = {"a. ", "b. ", "c.\n\n"};
  EXPECT_EQ(lay_out(pieces, 0, 3, {0.0}, {"X."}), "X. a. b. c.");
  EXPECT_EQ(lay_out(pieces, 1, 4, {0.5, 0.999}, {"X.", "Y."}), "b. c.\n\nX. a. b. Y.");
  EXPECT_EQ(lay_out(pieces, 0, 0, {0.3, 0.6}, {"X.", "Y."}), "X. Y.");
}

}  // namespace
}  // namespace lynxkv::suite
