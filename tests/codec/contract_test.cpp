// What every codec promises through the interface, whatever its format.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "codec/codec.hpp"

namespace lynxkv::codec {
namespace {

class EveryMode : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Codec> codec_ = make_codec(GetParam(), {});
  TensorShape shape_{.tokens = 37, .channels = 64, .head_dim = 16, .chunk_tokens = 32, .first_position = 0};

  std::vector<Bf16> page() const {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<Bf16> rows(static_cast<std::size_t>(shape_.tokens * shape_.channels));
    for (Bf16& x : rows) x = to_bf16(normal(random));
    return rows;
  }
  static Payloads views(const Encoded& out) { return {{out.payload[0], out.payload[1], out.payload[2]}, out.raw}; }
  // Entropy-coded payloads announce an upper bound.
  bool is_entropy_coded(int stream) const {
    return GetParam() == "lynx-exact" ? stream == 2 : GetParam().starts_with("cachegen");
  }
};

TEST_P(EveryMode, IsTheOneAskedFor) { EXPECT_EQ(codec_->name(), GetParam()); }

TEST_P(EveryMode, EndsItsStreamsAtTheTargetOrBeyond) {
  const auto streams = codec_->streams();
  ASSERT_FALSE(streams.empty());
  ASSERT_LE(streams.size(), static_cast<std::size_t>(max_streams));
  EXPECT_GE(streams.back().enables, Level::target);
  for (std::size_t i = 1; i < streams.size(); ++i) {
    EXPECT_LT(streams[i - 1].id, streams[i].id);
    EXPECT_LE(streams[i - 1].enables, streams[i].enables);
  }
}

TEST_P(EveryMode, WritesTheSizesThatItAnnounces) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  EXPECT_FALSE(out.raw);
  for (int i = 0; i < max_streams; ++i) {
    const std::size_t announced = codec_->payload_bytes(StreamId(i), shape_, false);
    EXPECT_LE(out.payload[static_cast<std::size_t>(i)].size(), announced);
    if (!is_entropy_coded(i)) {
      EXPECT_EQ(out.payload[static_cast<std::size_t>(i)].size(), announced);
    }
  }
}

TEST_P(EveryMode, DecodesNearTheInputAndEquallyEveryTime) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  std::vector<Bf16> decoded(rows.size()), again(rows.size());
  codec_->decode(codec_->target(), views(out), shape_, decoded.data()).take();
  codec_->decode(codec_->target(), views(out), shape_, again.data()).take();
  EXPECT_EQ(decoded, again);
  double error = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    error = std::fmax(error, std::fabs(static_cast<double>(to_float(rows[i]) - to_float(decoded[i]))));
  // Half a step: of four bits over about seven standard deviations; or of the differences' own standard deviation.
  EXPECT_LT(error, GetParam() == "cachegen-paper" ? 1.5 : 0.5);
}

TEST_P(EveryMode, TouchesNothingOutsideTheRowsWhateverTheirAlignment) {
  const std::vector<Bf16> rows = page();
  std::vector<Bf16> shifted(rows.size() + 3, Bf16{0x4242});
  std::copy(rows.begin(), rows.end(), shifted.begin() + 1);
  Encoded out, other;
  codec_->encode(rows.data(), shape_, out).take();
  codec_->encode(shifted.data() + 1, shape_, other).take();
  EXPECT_EQ(out.payload, other.payload);
  std::vector<Bf16> decoded(rows.size());
  codec_->decode(codec_->target(), views(out), shape_, decoded.data()).take();
  codec_->decode(codec_->target(), views(out), shape_, shifted.data() + 1).take();
  EXPECT_TRUE(std::equal(decoded.begin(), decoded.end(), shifted.begin() + 1));
  EXPECT_EQ(shifted.front(), Bf16{0x4242});
  EXPECT_EQ(shifted[rows.size() + 1], Bf16{0x4242});
}

TEST_P(EveryMode, KeepsItsMemoryBetweenPages) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  const auto* anchor = out.payload[0].data();
  const auto* residual = out.payload[1].data();
  for (int i = 0; i < 3; ++i) codec_->encode(rows.data(), shape_, out).take();
  EXPECT_EQ(out.payload[0].data(), anchor);
  EXPECT_EQ(out.payload[1].data(), residual);
}

TEST_P(EveryMode, NamesTokenAndChannelOfAValueThatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()})
    for (const int token : {0, 35}) {  // a sink and an ordinary token
      std::vector<Bf16> rows = page();
      rows[static_cast<std::size_t>(token * 64 + 63)] = to_bf16(bad);
      Encoded out;
      const Result<void> result = codec_->encode(rows.data(), shape_, out);
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code(), ErrorCode::bad_data);
      const std::string text = result.error().what();
      EXPECT_NE(text.find("token " + std::to_string(token) + ", channel 63"), std::string::npos) << text;
    }
}

TEST_P(EveryMode, SendsAPageOfHugeValuesSoThatItComesBackToItsOwnBits) {
  std::vector<Bf16> rows = page();
  rows[20 * 64 + 3].bits = 0x7f7f;
  rows[21 * 64 + 3].bits = 0xff7f;
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  EXPECT_EQ(out.raw, GetParam() != "bf16");
  for (int i = 0; i < max_streams; ++i)
    EXPECT_EQ(out.payload[static_cast<std::size_t>(i)].size(), codec_->payload_bytes(StreamId(i), shape_, out.raw));
  for (const StreamSpec& stream : codec_->streams()) {
    if (stream.enables == Level::none) continue;
    std::vector<Bf16> decoded(rows.size());
    codec_->decode(stream.enables, views(out), shape_, decoded.data()).take();
    EXPECT_EQ(decoded, rows);
  }
}

TEST_P(EveryMode, RefusesEveryWrongPayloadSizeAndLeavesTheRowsAlone) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  const std::vector<Bf16> before(rows.size(), Bf16{0x1111});
  for (const StreamSpec& stream : codec_->streams())
    for (const int change : {-1, 1, -1000000, 4096}) {
      Encoded wrong = out;
      auto& payload = wrong.payload[static_cast<std::size_t>(stream.id)];
      const auto size = static_cast<std::ptrdiff_t>(payload.size()) + change;
      payload.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
      std::vector<Bf16> decoded = before;
      const Result<void> result = codec_->decode(codec_->target(), views(wrong), shape_, decoded.data());
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code(), ErrorCode::bad_data);
      EXPECT_EQ(decoded, before);
    }
  Encoded raw = out;  // and the size of the other kind of page
  raw.raw = GetParam() != "bf16";
  std::vector<Bf16> decoded = before;
  EXPECT_EQ(codec_->decode(codec_->target(), views(raw), shape_, decoded.data()).ok(), GetParam() == "bf16");
}

TEST_P(EveryMode, RefusesEveryWrongShapeAndLeavesTheRowsAlone) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  std::vector<TensorShape> wrong;
  for (const int tokens : {0, -1, 36, 38, 257, std::numeric_limits<int>::max()}) wrong.push_back(shape_), wrong.back().tokens = tokens;
  for (const int channels : {0, -2, 63, 62, 66, std::numeric_limits<int>::max() - 1})
    wrong.push_back(shape_), wrong.back().channels = channels, wrong.back().head_dim = 2;
  for (const int chunk : {0, -32, 257}) wrong.push_back(shape_), wrong.back().chunk_tokens = chunk;
  for (const int head_dim : {0, -16, 24}) wrong.push_back(shape_), wrong.back().head_dim = head_dim;
  wrong.push_back(shape_), wrong.back().first_position = -1;
  const std::vector<Bf16> before(rows.size(), Bf16{0x1111});
  for (const TensorShape& shape : wrong) {
    std::vector<Bf16> decoded = before;
    const Result<void> result = codec_->decode(codec_->target(), views(out), shape, decoded.data());
    ASSERT_FALSE(result.ok()) << shape.tokens << " x " << shape.channels;
    EXPECT_EQ(result.error().code(), ErrorCode::bad_data);
    EXPECT_EQ(decoded, before);
  }
}

TEST_P(EveryMode, RefusesALevelThatItDoesNotHave) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  std::vector<Bf16> decoded(rows.size());
  EXPECT_FALSE(codec_->decode(Level::none, views(out), shape_, decoded.data()).ok());
  for (const Level level : {Level::draft, Level::target, Level::exact}) {
    bool announced = false;
    for (const StreamSpec& stream : codec_->streams()) announced = announced || stream.enables == level;
    EXPECT_EQ(codec_->decode(level, views(out), shape_, decoded.data()).ok(), announced) << static_cast<int>(level);
  }
}

TEST_P(EveryMode, SurvivesDamagedPayloads) {
  const std::vector<Bf16> rows = page();
  Encoded out;
  codec_->encode(rows.data(), shape_, out).take();
  std::mt19937 random(11);
  std::vector<Bf16> decoded(rows.size());
  for (int round = 0; round < 300; ++round) {
    Encoded damaged = out;
    for (auto& payload : damaged.payload)
      for (std::byte& b : payload)
        if (random() % 4 == 0) b = static_cast<std::byte>(random());
    const Result<void> result = codec_->decode(codec_->target(), views(damaged), shape_, decoded.data());
    if (!result.ok()) {
      EXPECT_EQ(result.error().code(), ErrorCode::bad_data);
      continue;
    }
    for (const Bf16 x : decoded) ASSERT_FALSE(std::isnan(to_float(x)));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMode, testing::ValuesIn([] {
                           std::vector<std::string> modes;
                           for (const std::string_view mode : mode_names()) modes.emplace_back(mode);
                           return modes;
                         }()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Registry, NamesTheNearestModeForOneThatDoesNotExist) {
  try {
    make_codec("lynks", {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("did you mean 'lynx'"), std::string::npos) << error.what();
  }
}

TEST(LynxOptions, AreCheckedOneByOne) {
  const auto refused = [](auto change) {
    CodecOptions options;
    change(options);
    try {
      make_codec("lynx", options);
    } catch (const Error& error) {
      return error.code() == ErrorCode::usage ? error.where() : "another code";
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refused([](CodecOptions& o) { o.alpha = 0.0009f; }), "alpha");
  EXPECT_EQ(refused([](CodecOptions& o) { o.alpha = 1001; }), "alpha");
  EXPECT_EQ(refused([](CodecOptions& o) { o.alpha = std::nanf(""); }), "alpha");
  EXPECT_EQ(refused([](CodecOptions& o) { o.levels = 127; }), "levels");
  EXPECT_EQ(refused([](CodecOptions& o) { o.sinks = 256; }), "sinks");
  EXPECT_EQ(refused([](CodecOptions& o) { o.sinks = -1; }), "sinks");
  EXPECT_EQ(refused([](CodecOptions& o) { o.alpha = 1000, o.levels = 120, o.sinks = 0; }), "nothing");
}

TEST(LynxSinks, BelongToTheFirstPageOnly) {
  const auto codec = make_codec("lynx", {});
  TensorShape shape{.tokens = 3, .channels = 8, .head_dim = 8, .chunk_tokens = 32, .first_position = 0};
  EXPECT_EQ(codec->payload_bytes(StreamId::residual, shape, false), 0u);  // three tokens, all of them sinks
  EXPECT_EQ(codec->payload_bytes(StreamId::anchor, shape, false), 3u * 16 + 2 * 16 + 2 * 8);
  shape.first_position = 256;
  EXPECT_EQ(codec->payload_bytes(StreamId::residual, shape, false), 3u * 4);
  EXPECT_EQ(codec->payload_bytes(StreamId::anchor, shape, false), 2u * 16 + 2 * 8 + 3 * 4);
}

TEST(LynxSize, IsFourAndFiveEighthsBitsForAFullPageWithoutSinks) {
  const auto codec = make_codec("lynx", {});
  const TensorShape shape{.tokens = 256, .channels = 192, .head_dim = 64, .chunk_tokens = 32, .first_position = 256};
  EXPECT_DOUBLE_EQ(static_cast<double>(codec->payload_bytes(StreamId::anchor, shape, false)) * 8 / (256 * 192), 4.625);
  EXPECT_DOUBLE_EQ(static_cast<double>(codec->payload_bytes(StreamId::residual, shape, false)) * 8 / (256 * 192), 4.0);
}

}  // namespace
}  // namespace lynxkv::codec
