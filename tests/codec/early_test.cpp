// Early residuals: where they go, what a draft makes of them, and payloads that do not hold what they should.
#include "codec/early.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "codec/lynx_format.hpp"
#include "codec/options.hpp"

namespace lynxkv::codec {
namespace {

TensorShape shape_of(int tokens, int channels, int first_position, int tokens_behind, page::Kind kind = page::Kind::key) {
  TensorShape shape;
  shape.tokens = tokens;
  shape.channels = channels;
  shape.head_dim = channels;
  shape.first_position = first_position;
  shape.tokens_behind = tokens_behind;
  shape.kind = kind;
  return shape;
}

std::vector<Bf16> normal_rows(int tokens, int channels, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Bf16> rows;
  for (int t = 0; t < tokens; ++t)
    for (int c = 0; c < channels; ++c) rows.push_back(to_bf16(normal(random) * static_cast<float>(1 + c % 5)));
  return rows;
}

CodecOptions early(int channels_k, int tokens_k) {
  CodecOptions options;
  options.early_channels_k = channels_k;
  options.early_tokens_k = tokens_k;
  return options;
}

Payloads views(const Encoded& encoded) {
  return {{encoded.payload[0], encoded.payload[1], encoded.payload[2]}, encoded.raw};
}
std::vector<Bf16> decoded(const Codec& codec, Level level, const Encoded& encoded, const TensorShape& shape) {
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens * shape.channels));
  codec.decode(level, views(encoded), shape, rows.data()).take();
  return rows;
}

TEST(EarlyResiduals, AreTheBytesOfTheWidestPairInAHandSizedPage) {
  // Three tokens of six channels, no sinks; channels 2 and 3 (pair 1) reach ten times as far as the others.
  CodecOptions options = early(2, 1);
  options.sinks = 0;
  const TensorShape shape = shape_of(3, 6, 256, 0);
  std::vector<Bf16> rows;
  for (int t = 0; t < 3; ++t)
    for (int c = 0; c < 6; ++c) rows.push_back(to_bf16(static_cast<float>((t * 7 + c * 3) % 5) * (c / 2 == 1 ? 10.0f : 1.0f)));
  const auto plain = make_codec("lynx", early(0, 0)), with = make_codec("lynx", options);
  Encoded a, b;
  plain->encode(rows.data(), shape, a).take();
  with->encode(rows.data(), shape, b).take();
  ASSERT_EQ(a.payload[1].size(), 9u);
  // The list, then pair 1 of tokens 0 and 1, then token 2 whole; left are pairs 0 and (in the place of 1) 2.
  ASSERT_EQ(b.payload[0].size(), a.payload[0].size() + 6 + 5);
  EXPECT_TRUE(std::equal(a.payload[0].begin(), a.payload[0].end(), b.payload[0].begin()));
  const std::byte* list = b.payload[0].data() + a.payload[0].size();
  const auto& r = a.payload[1];
  const std::vector<std::byte> expected = {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0}, std::byte{1},
                                           std::byte{0}, r[1],         r[4],         r[6],         r[7], r[8]};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), list));
  EXPECT_EQ(b.payload[1], (std::vector<std::byte>{r[0], r[2], r[3], r[5]}));
}

TEST(EarlyResiduals, LeaveTheFullLevelAsItIsAndTheSumOfBytesButForTheList) {
  for (const int tokens : {1, 4, 5, 31, 32, 33, 255, 256})
    for (const int channels : {2, 6, 64, 130})
      for (const int pairs : {0, 2, 4, 64, 1000})
        for (const int newest : {0, 1, 12, 300})
          for (const int behind : {0, 5, 400}) {
            SCOPED_TRACE(::testing::Message() << tokens << " tokens, " << channels << " channels, early " << pairs << " and "
                                            << newest << ", " << behind << " behind");
            const TensorShape shape = shape_of(tokens, channels, 0, behind);
            const auto rows = normal_rows(tokens, channels, 5);
            const auto plain = make_codec("lynx", early(0, 0)), with = make_codec("lynx", early(pairs, newest));
            Encoded a, b;
            plain->encode(rows.data(), shape, a).take();
            with->encode(rows.data(), shape, b).take();
            for (const StreamId stream : {StreamId::anchor, StreamId::residual})
              ASSERT_EQ(b.payload[static_cast<std::size_t>(stream)].size(), with->payload_bytes(stream, shape, false));
            const int coded = tokens - std::min(4, tokens);
            const bool any = coded > 0 && (pairs > 0 || newest > behind);
            const std::size_t list = any ? 4 + 2 * static_cast<std::size_t>(std::min(pairs, channels) / 2) : 0;
            ASSERT_EQ(b.payload[0].size() + b.payload[1].size(), a.payload[0].size() + a.payload[1].size() + list);
            ASSERT_EQ(decoded(*with, Level::target, b, shape), decoded(*plain, Level::target, a, shape));
          }
}

TEST(EarlyResiduals, GiveADraftTheFullValuesOfNewestTokensAndListedChannelsOnly) {
  const TensorShape shape = shape_of(100, 64, 0, 0);
  const auto rows = normal_rows(100, 64, 9);
  const auto plain = make_codec("lynx", early(0, 0)), with = make_codec("lynx", early(6, 10));
  Encoded a, b;
  plain->encode(rows.data(), shape, a).take();
  with->encode(rows.data(), shape, b).take();
  const auto draft = decoded(*plain, Level::draft, a, shape), full = decoded(*plain, Level::target, a, shape);
  const auto found = decoded(*with, Level::draft, b, shape);
  std::vector<bool> listed(64, false);
  const std::byte* list = b.payload[0].data() + a.payload[0].size();
  for (int i = 0; i < 3; ++i) {
    const auto pair = static_cast<std::size_t>(list[4 + 2 * i]);
    listed[2 * pair] = listed[2 * pair + 1] = true;
  }
  EXPECT_EQ(std::count(listed.begin(), listed.end(), true), 6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_early = i / 64 >= 90 || listed[i % 64];
    ASSERT_EQ(found[i], is_early ? full[i] : draft[i]) << "token " << i / 64 << ", channel " << i % 64;
  }
}

TEST(EarlyResiduals, CountNewestTokensFromTheSequencesEnd) {
  CodecOptions options = early(0, 40);
  const LynxFormat format(options);
  EXPECT_EQ(format.early(shape_of(256, 8, 0, 400)).rows, 0);
  EXPECT_EQ(format.early(shape_of(256, 8, 256, 30)).rows, 10);
  EXPECT_EQ(format.early(shape_of(30, 8, 512, 0)).rows, 30);
  EXPECT_EQ(format.early(shape_of(30, 8, 0, 0)).rows, 26);  // four are sinks
  EXPECT_EQ(format.early(shape_of(30, 8, 512, 0, page::Kind::value)).rows, 0);
}

TEST(EarlyResiduals, ServeTheAnchorAloneAndTheExactStreamToo) {
  CodecOptions options = preset_options("default");
  for (const page::Kind kind : {page::Kind::key, page::Kind::value})
    for (const int tokens : {3, 64, 65, 256}) {
      const TensorShape shape = shape_of(tokens, 64, 0, 3, kind);
      const auto rows = normal_rows(tokens, 64, 2);
      Encoded anchor, both, three;
      make_codec("lynx-int4", options)->encode(rows.data(), shape, anchor).take();
      const auto lynx = make_codec("lynx", options), exact = make_codec("lynx-exact", options);
      lynx->encode(rows.data(), shape, both).take();
      exact->encode(rows.data(), shape, three).take();
      EXPECT_EQ(anchor.payload[0], both.payload[0]);
      EXPECT_EQ(three.payload[0], both.payload[0]);
      EXPECT_EQ(three.payload[1], both.payload[1]);
      EXPECT_EQ(decoded(*make_codec("lynx-int4", options), Level::target, anchor, shape), decoded(*lynx, Level::draft, both, shape));
      EXPECT_EQ(decoded(*exact, Level::exact, three, shape), rows);
    }
}

TEST(EarlyResiduals, RefuseListsThatNoEncoderWrites) {
  const TensorShape shape = shape_of(64, 16, 0, 0);
  const auto rows = normal_rows(64, 16, 4);
  const auto codec = make_codec("lynx", early(4, 2));
  Encoded good;
  codec->encode(rows.data(), shape, good).take();
  const std::size_t list = good.payload[0].size() - (4 + 4) - (58 * 2 + 2 * 8);
  const auto refused = [&](std::size_t at, int value) {
    Encoded bad = good;
    bad.payload[0][list + at] = static_cast<std::byte>(value);
    std::vector<Bf16> out(rows.size(), Bf16{7});
    for (const Level level : {Level::draft, Level::target}) {
      const auto done = codec->decode(level, views(bad), shape, out.data());
      if (done || done.error().code() != ErrorCode::bad_data) return false;
    }
    return out == std::vector<Bf16>(rows.size(), Bf16{7});
  };
  EXPECT_TRUE(refused(0, 3));    // pairs
  EXPECT_TRUE(refused(2, 1));    // tokens
  EXPECT_TRUE(refused(4, 8));    // past the channels
  EXPECT_TRUE(refused(5, 255));
  EXPECT_TRUE(refused(6, 0));    // not ascending
  Encoded cut = good;
  cut.payload[0].pop_back();
  std::vector<Bf16> out(rows.size());
  EXPECT_FALSE(codec->decode(Level::draft, views(cut), shape, out.data()));
}

TEST(CodecOptions, AreReadByNameAndPrintedAsTheyAreRead) {
  const CodecOptions options = parse_options("preset=paper,alpha=0.5,fit=least_error,early_channels_v=6", CodecOptions{});
  EXPECT_EQ(options.levels, 120);
  EXPECT_EQ(options.alpha, 0.5f);
  EXPECT_EQ(options.fit, Fit::least_error);
  EXPECT_EQ(options.early_channels_v, 6);
  EXPECT_EQ(parse_options(difference_text(options, CodecOptions{}), CodecOptions{}), options);
  EXPECT_EQ(difference_text(CodecOptions{}, CodecOptions{}), "");
  EXPECT_EQ(preset_options("plain"), CodecOptions{});
}

TEST(CodecOptions, RefuseNamesAndValuesThatDoNotExist) {
  const auto refusal = [](const char* text) {
    try {
      parse_options(text, CodecOptions{});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refusal("alpa=1").find("alpha"), std::string::npos);
  EXPECT_NE(refusal("alpha").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(refusal("alpha=1x").find("expected a number"), std::string::npos);
  EXPECT_NE(refusal("fit=least").find("least_error"), std::string::npos);
  EXPECT_NE(refusal("preset=papers").find("paper"), std::string::npos);
  const auto made = [](CodecOptions options) { return make_codec("lynx", options); };
  EXPECT_THROW(made(early(3, 0)), Error);
  EXPECT_THROW(made(early(-2, 0)), Error);
  EXPECT_THROW(made(early(0, -1)), Error);
}

}  // namespace
}  // namespace lynxkv::codec
