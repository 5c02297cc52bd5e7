// What the quality room counts, on numbers small enough to check by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "base/error.hpp"
#include "quality/calibration.hpp"
#include "quality/distortion.hpp"
#include "quality/reference.hpp"
#include "quality/speed.hpp"
#include "quality/study.hpp"

namespace lynxkv::quality {
namespace {

std::vector<Bf16> bf16s(std::initializer_list<float> values) {
  std::vector<Bf16> out;
  for (const float value : values) out.push_back(to_bf16(value));
  return out;
}

// Two layers of one head of four channels.
Capture random_capture(int tokens, unsigned seed, float tail = 1) {
  Capture capture = make_capture({2, 1, 4}, tokens, {0, 1});
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (auto* values : {&capture.keys, &capture.values})
    for (Bf16& x : *values) {
      const float sample = normal(random);
      x = to_bf16(std::copysign(std::pow(std::fabs(sample), tail), sample));
    }
  return capture;
}

TEST(Distortion, IsZeroOfEqualsAndCountsSquaresOfDifferences) {
  Distortion same;
  EXPECT_EQ(same.rms(), 0);
  EXPECT_EQ(same.nmse(), 0);
  same.add(bf16s({1, 2}), bf16s({1, 2}));
  EXPECT_EQ(same.rms(), 0);
  EXPECT_EQ(same.nmse(), 0);
  Distortion off;
  off.add(bf16s({3, 4}), bf16s({3, 2}));
  EXPECT_DOUBLE_EQ(off.rms(), std::sqrt(2.0));  // sqrt(4 / 2)
  EXPECT_DOUBLE_EQ(off.nmse(), 4.0 / 25);
  off.add(same);
  EXPECT_DOUBLE_EQ(off.nmse(), 4.0 / 30);
  EXPECT_EQ(off.count, 4);
}

TEST(Bits, CountPayloadsByStream) {
  codec::Encoded encoded;
  encoded.payload[0].resize(5);
  encoded.payload[1].resize(3);
  Bits bits;
  EXPECT_EQ(bits.of(codec::StreamId::anchor), 0);
  bits.add(encoded, 8);
  EXPECT_EQ(bits.of(codec::StreamId::anchor), 5);
  EXPECT_EQ(bits.of(codec::StreamId::residual), 3);
  EXPECT_EQ(bits.up_to(codec::StreamId::residual), 8);
}

TEST(Divergence, IsZeroOfEqualsAndOfShiftedLogitsAndRightForTwoCoins) {
  const std::vector<float> p = {0.5f, -1.0f, 2.0f}, shifted = {3.5f, 2.0f, 5.0f};
  EXPECT_EQ(divergence(p, p), 0);
  EXPECT_NEAR(divergence(p, shifted), 0, 1e-7);
  // A fair coin against one of 1/4 and 3/4: log(2) - log(3)/2 nats.
  const std::vector<float> fair = {0, 0}, loaded = {0, std::log(3.0f)};
  EXPECT_NEAR(divergence(fair, loaded), 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3.0), 1e-7);
  EXPECT_GT(divergence(loaded, fair), 0);
}

TEST(Mean, HasTheStandardErrorOfItsDocuments) {
  EXPECT_EQ(mean_of({}).value, 0);
  EXPECT_EQ(mean_of({3}).error, 0);
  const Mean mean = mean_of({1, 2, 3});
  EXPECT_DOUBLE_EQ(mean.value, 2);
  EXPECT_DOUBLE_EQ(mean.error, std::sqrt(1.0 / 3));
}

TEST(Capture, CutsPagesAndKnowsTheirPlace) {
  Capture capture = make_capture({3, 1, 4}, 300, {0, 2});
  EXPECT_EQ(capture.pages(), 2);
  EXPECT_EQ(capture.page_tensors(), 8u);
  capture.rows(1, page::Kind::value, 1)[0] = to_bf16(7);
  EXPECT_EQ(to_float(capture.values[(300 + 256) * 4]), 7);
  const codec::TensorShape shape = capture.shape(1, page::Kind::value, 1);
  EXPECT_EQ(shape.tokens, 44);
  EXPECT_EQ(shape.first_position, 256);
  EXPECT_EQ(shape.tokens_behind, 0);
  EXPECT_EQ(shape.layer, 2);
  EXPECT_EQ(capture.shape(0, page::Kind::key, 0).tokens_behind, 44);
}

TEST(RunCodec, FindsNothingLostInBf16AndMoreLostInTheDraftThanInFull) {
  const Capture capture = random_capture(300, 1);
  const CodecDistortion exact = run_codec(*codec::make_codec("bf16", {}), capture);
  ASSERT_EQ(exact.levels.size(), 1u);
  EXPECT_EQ(exact.levels[0].keys.error, 0);
  EXPECT_EQ(exact.bits.of(codec::StreamId::anchor), 16);
  const CodecDistortion lynx = run_codec(*codec::make_codec("lynx", {}), capture);
  ASSERT_EQ(lynx.levels.size(), 2u);
  EXPECT_GT(lynx.levels[0].values.nmse(), 10 * lynx.levels[1].values.nmse());
  EXPECT_GT(lynx.levels[1].values.nmse(), 0);
}

TEST(RunCodec, NamesThePageOfAValueThatIsNoNumber) {
  Capture capture = random_capture(300, 1);
  capture.rows(1, page::Kind::value, 1)[9] = to_bf16(std::numeric_limits<float>::quiet_NaN());
  try {
    run_codec(*codec::make_codec("lynx", {}), capture);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_data);
    EXPECT_NE(std::string(error.what()).find("layer 1, V, page 1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("token 2, channel 1"), std::string::npos) << error.what();
  }
}

TEST(Variant, IsACodecANameAndOptions) {
  const Variant plain = parse_variant("int8", {});
  EXPECT_EQ(plain.name, "int8");
  const Variant named = parse_variant("mine:lynx,alpha=2,levels=120", {});
  EXPECT_EQ(named.name, "mine");
  EXPECT_EQ(named.codec_name, "lynx");
  EXPECT_EQ(named.options, "alpha=2,levels=120");
  for (const char* text : {"", ":lynx", "lynks", "a:lynx,alpa=1", "lynx,alpha=0"}) EXPECT_THROW(parse_variant(text, {}), Error) << text;
}

TEST(Calibration, PrefersEvenLevelsForEvenValuesAndTriesAllOfThem) {
  const Capture captures[] = {random_capture(512, 3), random_capture(300, 4)};
  const Calibration found = calibrate(captures, {});
  EXPECT_EQ(found.tried.size(), 4 + calibration_alphas().size());
  EXPECT_LE(found.chosen.alpha, 0.2f);
  EXPECT_LE(found.chosen_k.nmse(), found.start_k.nmse());
  EXPECT_LE(found.chosen_v.nmse(), found.start_v.nmse());
  EXPECT_EQ(std::count_if(found.tried.begin(), found.tried.end(), [](const Tried& t) { return t.best_k; }), 3);
}

TEST(Calibration, ChoosesForVApartFromK) {
  Capture capture = random_capture(1024, 5);
  capture.values = random_capture(1024, 6, 3.0f).values;  // heavy tails
  const Calibration found = calibrate(std::span(&capture, 1), {});
  const auto value = [&](bool Tried::*best) {
    for (const Tried& tried : found.tried)
      if (tried.option == "alpha" && tried.*best) return std::stof(tried.value);
    return 0.0f;
  };
  EXPECT_EQ(found.chosen.alpha, value(&Tried::best_k));
  EXPECT_NE(value(&Tried::best_v), value(&Tried::best_k));
  EXPECT_EQ(found.chosen.alpha_v, value(&Tried::best_v));
}

TEST(Speed, IsANumberAboveZeroForEveryPass) {
  const Capture capture = random_capture(64, 2);
  const CodecSpeed speed = measure_speed(*codec::make_codec("lynx", {}), capture);
  EXPECT_GT(speed.encode, 0);
  ASSERT_EQ(speed.decode.size(), 2u);
  EXPECT_GT(speed.decode[0], 0);
  EXPECT_GT(measure_memcpy(capture), 0);
}

}  // namespace
}  // namespace lynxkv::quality
