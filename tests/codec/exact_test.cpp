// The exact stream: hand-sized cells and payloads, then every bit back from real pages, from every exponent
// and from pages made to fall out of their cells; and damage refused.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "kernels/exact.hpp"
#include "kernels/runtime.hpp"
#include "tests/codec/golden.hpp"

namespace lynxkv::codec {
namespace {

using kernels::exact_cell;
using kernels::exact_ordinal;

Payloads views(const Encoded& out) {
  return {{out.payload[0], out.payload[1], out.payload[2]}, out.raw};
}

std::vector<Bf16> round_trip(const std::vector<Bf16>& rows, const TensorShape& shape,
                             const CodecOptions& options, Encoded& out) {
  const auto codec = make_codec("lynx-exact", options);
  codec->encode(rows.data(), shape, out).take();
  EXPECT_LE(out.payload[2].size(), codec->payload_bytes(StreamId::exact, shape, out.raw));
  std::vector<Bf16> decoded(rows.size(), Bf16{0x4242});
  codec->decode(Level::exact, views(out), shape, decoded.data()).take();
  return decoded;
}

std::vector<int> cell(float inner, float outer) {
  const kernels::ExactCell found = exact_cell(inner, outer);
  return {found.first, found.count};
}

TEST(ExactOrdinal, OrdersBf16AsValuesAndKeepsTheZerosApart) {
  EXPECT_EQ(exact_ordinal(Bf16{0x0000}), 0);
  EXPECT_EQ(exact_ordinal(Bf16{0x8000}), -1);
  EXPECT_EQ(exact_ordinal(Bf16{0x3f80}), 0x3f80);   // 1
  EXPECT_EQ(exact_ordinal(Bf16{0xbf80}), -0x3f81);  // -1
  EXPECT_EQ(exact_ordinal(Bf16{0x7f7f}), kernels::exact_largest_ordinal);
  EXPECT_EQ(exact_ordinal(Bf16{0xff7f}), kernels::exact_least_ordinal);
  for (int bits = 0; bits < 0x10000; ++bits) {
    const Bf16 x{static_cast<std::uint16_t>(bits)};
    ASSERT_EQ(kernels::exact_value(exact_ordinal(x)), x);
  }
}

TEST(ExactCell, HoldsTheBf16ValuesBetweenItsEndsInEitherOrder) {
  EXPECT_EQ(cell(1.0f, 1.015625f), (std::vector<int>{0x3f80, 3}));  // 1, 1.0078125 and 1.015625
  EXPECT_EQ(cell(1.015625f, 1.0f), (std::vector<int>{0x3f80, 3}));
  EXPECT_EQ(cell(1.001f, 1.01f), (std::vector<int>{0x3f81, 1}));  // 1.0078125 alone
  EXPECT_EQ(cell(-1.01f, -1.001f), (std::vector<int>{-0x3f82, 1}));
  EXPECT_EQ(cell(-1.015625f, -1.0f), (std::vector<int>{-0x3f83, 3}));
  EXPECT_EQ(cell(1.001f, 1.002f), (std::vector<int>{0x3f80, 2}));  // none inside: the neighbours
  EXPECT_EQ(cell(-1.002f, -1.001f), (std::vector<int>{-0x3f82, 2}));
  EXPECT_EQ(cell(2.0f, 2.0f), (std::vector<int>{0x4000, 1}));
}

TEST(ExactCell, HoldsBothZerosWhereItReachesZero) {
  EXPECT_EQ(cell(0.0f, 0.0f), (std::vector<int>{-1, 2}));
  EXPECT_EQ(cell(-0.0f, -0.0f), (std::vector<int>{-1, 2}));
  const float least = to_float(Bf16{1});
  EXPECT_EQ(cell(0.0f, least), (std::vector<int>{-1, 3}));
  EXPECT_EQ(cell(-least, 0.0f), (std::vector<int>{-2, 3}));
  EXPECT_EQ(cell(-least, least), (std::vector<int>{-2, 4}));
}

TEST(ExactCell, StaysAmongFiniteValues) {
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(cell(infinite, infinite), (std::vector<int>{0x7f7f, 1}));
  EXPECT_EQ(cell(-infinite, -infinite), (std::vector<int>{-0x7f80, 1}));
  EXPECT_EQ(cell(-infinite, infinite), (std::vector<int>{-0x7f80, 0xff00}));
}

TEST(ExactShare, LeavesASlotForValuesOutsideTheirCell) {
  EXPECT_EQ(kernels::exact_share(1), 16383u);
  EXPECT_EQ(kernels::exact_share(3), 5461u);
  EXPECT_EQ(kernels::exact_share(256), 63u);
  for (int count = 1; count <= kernels::exact_widest_cell; ++count)
    ASSERT_LT(static_cast<std::uint32_t>(count) * kernels::exact_share(count), kernels::exact_slots);
}

// Two values are stored: a coded payload would take 136 bytes more.
TEST(ExactPayload, StoresWhatIsTooSmallToCode) {
  const TensorShape shape{
      .tokens = 1, .channels = 2, .head_dim = 2, .chunk_tokens = 32, .first_position = 256};
  Encoded out;
  const std::vector<Bf16> rows{Bf16{0x3f80}, Bf16{0xc000}};
  EXPECT_EQ(round_trip(rows, shape, {}, out), rows);
  EXPECT_EQ(out.payload[2],
            (std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0x80},
                                    std::byte{0x3f}, std::byte{0x00}, std::byte{0xc0}}));
}

// 64 x 2 ones: gscale is 0, every cell holds 1 alone. Each lane codes four values of share 16383 out of 16384
// slots: from 65536, state' = (state / 16383 << 14) + state % 16383: 65540, 65544, 65548, 65552. No word, no
// extra.
TEST(ExactPayload, IsAsWorkedOutByHandForAConstantPage) {
  const TensorShape shape{
      .tokens = 64, .channels = 2, .head_dim = 2, .chunk_tokens = 32, .first_position = 256};
  const std::vector<Bf16> rows(128, Bf16{0x3f80});
  Encoded out;
  EXPECT_EQ(round_trip(rows, shape, {}, out), rows);
  std::vector<std::uint32_t> expected{1, 0, 0};  // coded; no words, no extras
  expected.insert(expected.end(), 32, 65552);
  std::vector<std::uint32_t> found(out.payload[2].size() / 4);
  std::memcpy(found.data(), out.payload[2].data(), out.payload[2].size());
  EXPECT_EQ(found, expected);
}

TEST(ExactPayload, IsEmptyForAPageOfSinksAndForARawPage) {
  const TensorShape shape{.tokens = 3, .channels = 4, .head_dim = 4};
  std::vector<Bf16> rows(12, Bf16{0x8000});
  Encoded out;
  EXPECT_EQ(round_trip(rows, shape, {}, out), rows);
  EXPECT_TRUE(out.payload[2].empty());
  rows[4].bits = 0x7f7f;
  CodecOptions options;
  options.sinks = 1;
  EXPECT_EQ(round_trip(rows, shape, options, out), rows);
  EXPECT_TRUE(out.raw);
  EXPECT_TRUE(out.payload[2].empty());
}

class ExactOnEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { kernels::use_codec_target(GetParam()); }
  void TearDown() override { kernels::use_codec_target(""); }
};

TEST_P(ExactOnEveryTarget, RestoresEveryGoldenPage) {
  for (const golden::Case& one : golden::cases()) {
    SCOPED_TRACE(one.name);
    const std::vector<Bf16> kv = golden::read_bf16(one.name + ".kv.bin");
    Encoded out;
    EXPECT_EQ(round_trip(kv, one.shape, one.options, out), kv);
    EXPECT_EQ(out.payload[0], golden::read(one.name + ".anchor.bin"));
    EXPECT_EQ(out.payload[1], golden::read(one.name + ".residual.bin"));
  }
}

// Ways to fill a page, from ordinary to hostile.
std::vector<Bf16> page(int fill, std::size_t values, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<Bf16> rows(values);
  for (Bf16& x : rows) {
    const auto bits = static_cast<std::uint16_t>(random());
    switch (fill) {
      case 0:
        x = to_bf16(normal(random));
        break;
      case 1:
        x.bits = static_cast<std::uint16_t>((bits & 0x8000) | (bits & 0x7fff) % 0x7e80);
        break;  // every exponent
      case 2:
        x.bits = bits & 0x807f;
        break;  // denormals, zeros
      case 3:
        x.bits = bits & 0x8000;
        break;  // zeros alone
      case 4:
        x = to_bf16(100.0f + normal(random));
        break;  // far from zero
      case 5:
        x.bits =
            bits % 8 == 0 ? 0x7e7f : static_cast<std::uint16_t>((bits & 0x8000) | (bits & 0x7fff) % 0x4000);
        break;
      case 6:
        x = to_bf16(std::ldexp(normal(random), static_cast<int>(bits % 40) - 20));
        break;
      default:
        x = to_bf16(static_cast<float>(bits % 32) * 0.25f);
        break;  // ties
    }
  }
  return rows;
}

TEST_P(ExactOnEveryTarget, RestoresPagesOfEverySizeAndFill) {
  std::mt19937 random(5);
  for (const int tokens : {1, 31, 32, 33, 255, 256})
    for (const int channels : {2, 10, 32, 64, 66, 192})
      for (int fill = 0; fill < 8; ++fill)
        for (const bool paper : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << tokens << " x " << channels << ", fill " << fill << ", paper " << paper);
          const TensorShape shape{tokens, channels, 2, 32, fill % 2 == 0 ? 0 : 256};
          CodecOptions options;
          if (paper) options = {2.0f, 120, Centre::mean, Sigma::linear, 0};
          const std::vector<Bf16> rows = page(fill, static_cast<std::size_t>(tokens * channels), random);
          Encoded out;
          ASSERT_EQ(round_trip(rows, shape, options, out), rows);
          EXPECT_FALSE(out.raw);
        }
}

TEST_P(ExactOnEveryTarget, FindsTheCellsOfThePlainForm) {
  std::mt19937 random(9);
  for (const int channels : {2, 32, 34, 66, 192})
    for (int round = 0; round < 12; ++round) {
      const kernels::LynxLayout layout{70, channels, round % 5, 32};
      const auto coding =
          kernels::make_lynx_coding(0.05f, 112, kernels::LynxCentre::mid, kernels::LynxSigma::log);
      const kernels::ExactTables tables = kernels::make_exact_tables(coding.tables);
      std::vector<std::byte> anchor(layout.anchor_bytes()), residual(layout.nibble_bytes());
      for (std::byte& b : anchor) b = static_cast<std::byte>(random());
      for (std::byte& b : residual) b = static_cast<std::byte>(random());
      for (std::size_t i = 1; i < layout.mu8_at(); i += 2)
        anchor[i] &= round % 2 == 0 ? std::byte{0xbf} : std::byte{0xfe};  // finite
      const std::size_t values = kernels::exact_value_count(layout);
      std::vector<std::int16_t> first(values), plain_first(values);
      std::vector<std::uint16_t> count(values), plain_count(values);
      kernels::exact_cells(anchor.data(), residual.data(), layout, coding, tables, first.data(),
                           count.data());
      kernels::reference::exact_cells(anchor.data(), residual.data(), layout, coding, tables,
                                      plain_first.data(), plain_count.data());
      ASSERT_EQ(first, plain_first);
      ASSERT_EQ(count, plain_count);
    }
}

TEST_P(ExactOnEveryTarget, GivesTheSameBytesOnSeveralThreads) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const TensorShape shape{.tokens = 256, .channels = 4096, .head_dim = 64};  // long enough to be shared among them
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens) * 4096);
  for (Bf16& x : rows) x = to_bf16(normal(random));
  Encoded alone, together;
  kernels::start_runtime(3, kernels::best_isa());
  kernels::use_codec_target(GetParam());
  EXPECT_EQ(round_trip(rows, shape, {}, together), rows);
  kernels::start_runtime(1, kernels::best_isa());
  kernels::use_codec_target(GetParam());
  EXPECT_EQ(round_trip(rows, shape, {}, alone), rows);
  kernels::start_runtime(3, kernels::best_isa());
  kernels::use_codec_target(GetParam());
  EXPECT_EQ(alone.payload[2], together.payload[2]);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, ExactOnEveryTarget, testing::ValuesIn(kernels::codec_targets()),
                         [](const auto& tested) { return tested.param; });

// Bounded from both sides: fewer bits than log2 of the cells' members would mean that the page or the codec
// changed.
TEST(ExactSize, StaysWithinItsBoundsOnRealPages) {
  struct Bounds {
    const char* page;
    double least, largest;  // bits an element
  };
  for (const Bounds& bounds : {Bounds{"real_l0_k_p0", 1.9, 2.3},
                               {"real_l15_k_p0", 1.8, 2.3},
                               {"real_l29_v_p0", 2.2, 2.8},
                               {"real_l7_v_p3", 2.4, 3.0}}) {
    Encoded out;
    for (const golden::Case& one : golden::cases())
      if (one.name == bounds.page) round_trip(golden::read_bf16(one.name + ".kv.bin"), one.shape, {}, out);
    const double bits = static_cast<double>(out.payload[2].size()) * 8 / (256 * 192);
    EXPECT_GE(bits, bounds.least) << bounds.page;
    EXPECT_LE(bits, bounds.largest) << bounds.page;
  }
}

class DamagedExact : public testing::Test {
 protected:
  DamagedExact() {
    std::mt19937 random(3);
    rows_ = page(0, static_cast<std::size_t>(shape_.tokens * shape_.channels), random);
    codec_->encode(rows_.data(), shape_, out_).take();
  }
  // The error's text; empty where the payload was taken. Rows have to be untouched by an error.
  std::string refusal(const std::vector<std::byte>& exact) const {
    std::vector<Bf16> decoded(rows_.size(), Bf16{0x1111});
    const Payloads in{{out_.payload[0], out_.payload[1], exact}, out_.raw};
    const Result<void> result = codec_->decode(Level::exact, in, shape_, decoded.data());
    if (result.ok()) return "";
    EXPECT_EQ(result.error().code(), ErrorCode::bad_data);
    EXPECT_EQ(decoded, std::vector<Bf16>(rows_.size(), Bf16{0x1111}));
    return result.error().what();
  }

  TensorShape shape_{
      .tokens = 256, .channels = 130, .head_dim = 2, .chunk_tokens = 32, .first_position = 256};
  std::unique_ptr<Codec> codec_ = make_codec("lynx-exact", {});
  std::vector<Bf16> rows_;
  Encoded out_;
};

// Three segments: 16384, 16384 and 512 values.
TEST_F(DamagedExact, IsRefusedForEverySingleFlippedBitThatItCanFlip) {
  for (std::size_t byte = 0; byte < out_.payload[2].size(); byte += byte < 64 ? 1 : 97)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> exact = out_.payload[2];
      exact[byte] ^= static_cast<std::byte>(1 << bit);
      const Payloads in{{out_.payload[0], out_.payload[1], exact}, false};
      std::vector<Bf16> decoded(rows_.size());
      const Result<void> result = codec_->decode(Level::exact, in, shape_, decoded.data());
      // A flipped extra is another value of the same place; everything else shows.
      if (result.ok()) {
        EXPECT_NE(decoded, rows_) << byte << ", " << bit;
      }
    }
}

TEST_F(DamagedExact, IsRefusedWhereItIsCutOrContinued) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{11}, std::size_t{27}, std::size_t{28},
        std::size_t{155}, out_.payload[2].size() - 1, out_.payload[2].size() - 2}) {
    std::vector<std::byte> exact = out_.payload[2];
    exact.resize(size);
    EXPECT_NE(refusal(exact), "") << size;
  }
  std::vector<std::byte> longer = out_.payload[2];
  longer.resize(longer.size() + 2);
  EXPECT_NE(refusal(longer).find("its segments take"), std::string::npos);
}

TEST_F(DamagedExact, IsRefusedForAnUnknownFormAndForCountsThatDoNotFit) {
  std::vector<std::byte> exact = out_.payload[2];
  exact[0] = std::byte{2};
  EXPECT_NE(refusal(exact).find("form"), std::string::npos);
  for (const std::size_t field : {4u, 8u, 12u, 16u, 20u, 24u}) {
    exact = out_.payload[2];
    for (std::size_t i = 0; i < 4; ++i) exact[field + i] = std::byte{0xff};
    EXPECT_NE(refusal(exact), "") << field;
    exact =
        out_.payload[2];  // one word more here, one extra less there: the size fits, the coder's end does not
    exact[4] = static_cast<std::byte>(static_cast<int>(exact[4]) + 1);
    exact[8] = static_cast<std::byte>(static_cast<int>(exact[8]) - 1);
    EXPECT_NE(refusal(exact), "") << field;
  }
}

TEST_F(DamagedExact, IsRefusedForAStoredValueThatIsNotFinite) {
  std::vector<std::byte> exact(4 + rows_.size() * 2);
  EXPECT_EQ(refusal(exact), "");
  exact[5] = std::byte{0x7f};
  exact[4] = std::byte{0x80};
  EXPECT_NE(refusal(exact).find("a NaN or an infinity"), std::string::npos);
}

TEST_F(DamagedExact, IsRefusedWhereTheCodesBelongToAnotherPage) {
  std::vector<Bf16> others = rows_;
  std::reverse(others.begin(), others.end());
  Encoded other;
  codec_->encode(others.data(), shape_, other).take();
  EXPECT_NE(refusal(other.payload[2]), "");
}

TEST(LynxExact, DraftsOnItsAnchorAsLynxDoes) {
  const TensorShape shape{.tokens = 40, .channels = 64, .head_dim = 64};
  std::mt19937 random(1);
  const std::vector<Bf16> rows = page(0, 40 * 64, random);
  Encoded exact, plain;
  std::vector<Bf16> drafted(rows.size()), expected(rows.size());
  const auto codec = make_codec("lynx-exact", {}), lynx = make_codec("lynx", {});
  codec->encode(rows.data(), shape, exact).take();
  lynx->encode(rows.data(), shape, plain).take();
  codec->decode(Level::draft, {{exact.payload[0], {}, {}}, false}, shape, drafted.data()).take();
  lynx->decode(Level::draft, {{plain.payload[0], {}, {}}, false}, shape, expected.data()).take();
  EXPECT_EQ(drafted, expected);
  EXPECT_EQ(codec->target(), Level::exact);
}

}  // namespace
}  // namespace lynxkv::codec
