// The vector kernels of the page codec against the plain reference, byte for byte, on every instruction set here.
#include "kernels/codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "base/error.hpp"
#include "tests/kernels/paths.hpp"

namespace lynxkv::kernels {
namespace {

struct Payloads {
  std::vector<std::byte> anchor, residual;
};

class PageCodec : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    start_runtime(lynxkv::testing::test_threads, best_isa());
    start_runtime(1, best_isa());
    use_codec_target(GetParam());
  }
  void TearDown() override { use_codec_target(""); }
  std::mt19937 random_{20240607};

  std::vector<Bf16> page(const LynxLayout& layout, const std::function<float(int token, int channel)>& value) {
    std::vector<Bf16> rows(layout.raw_bytes() / 2);
    for (int t = 0; t < layout.tokens; ++t)
      for (int c = 0; c < layout.channels; ++c)
        rows[static_cast<std::size_t>(t * layout.channels + c)] = to_bf16(value(t, c));
    return rows;
  }
  std::vector<Bf16> normal_page(const LynxLayout& layout) {
    std::normal_distribution<float> normal;
    return page(layout, [&](int, int channel) { return normal(random_) * std::ldexp(1.0f, channel % 7 - 3); });
  }

  // Encodes and decodes both ways and compares; the payloads start as rubble, so a byte left out shows.
  void expect_same(const std::vector<Bf16>& rows, const LynxLayout& layout, const LynxCoding& coding) {
    Payloads expected{std::vector<std::byte>(layout.anchor_bytes(), std::byte{0xa5}),
                      std::vector<std::byte>(layout.nibble_bytes(), std::byte{0xa5})};
    Payloads found{std::vector<std::byte>(layout.anchor_bytes(), std::byte{0x5a}),
                   std::vector<std::byte>(layout.nibble_bytes(), std::byte{0x5a})};
    std::vector<std::int16_t> workspace(layout.workspace());
    const PageOutcome outcome =
        reference::lynx_encode(rows.data(), layout, coding, expected.anchor.data(), expected.residual.data());
    ASSERT_EQ(lynx_encode(rows.data(), layout, coding, found.anchor.data(), found.residual.data(), workspace.data()),
              outcome);
    if (outcome != PageOutcome::coded) return;
    ASSERT_EQ(found.anchor, expected.anchor);
    ASSERT_EQ(found.residual, expected.residual);
    std::vector<std::byte> alone(layout.anchor_bytes());
    lynx_encode(rows.data(), layout, coding, alone.data(), nullptr, workspace.data());
    ASSERT_EQ(alone, expected.anchor);
    expect_same_decode(expected, layout, coding);
  }
  void expect_same_decode(const Payloads& payloads, const LynxLayout& layout, const LynxCoding& coding) {
    std::vector<Bf16> expected(layout.raw_bytes() / 2, Bf16{0x1234}), found(expected.size(), Bf16{0x4321});
    reference::lynx_decode_draft(payloads.anchor.data(), layout, coding, expected.data());
    lynx_decode_draft(payloads.anchor.data(), layout, coding, found.data());
    ASSERT_EQ(found, expected);
    reference::lynx_decode_full(payloads.anchor.data(), payloads.residual.data(), layout, coding, expected.data());
    lynx_decode_full(payloads.anchor.data(), payloads.residual.data(), layout, coding, found.data());
    ASSERT_EQ(found, expected);
  }
};

const LynxCoding& standard() {
  static const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  return coding;
}

TEST_P(PageCodec, EqualsTheReferenceAtSizesAroundChunkPageAndVector) {
  for (const int tokens : {1, 2, 31, 32, 33, 63, 64, 65, 255, 256})
    for (const int channels : {2, 10, 32, 34, 64, 66, 130})
      for (const int sinks : {0, 4, 33, 256}) {
        SCOPED_TRACE(::testing::Message() << tokens << " tokens, " << channels << " channels, " << sinks << " sinks");
        const LynxLayout layout{tokens, channels, std::min(sinks, tokens), 32};
        expect_same(normal_page(layout), layout, standard());
      }
}

TEST_P(PageCodec, EqualsTheReferenceOnSeveralThreads) {
  start_runtime(lynxkv::testing::test_threads, best_isa());
  use_codec_target(GetParam());
  for (const int channels : {64, 66, 130, 1024}) {
    const LynxLayout layout{100, channels, 4, 32};
    for (int round = 0; round < 5; ++round) expect_same(normal_page(layout), layout, standard());
  }
  const LynxLayout large{256, 4098, 4, 32};  // long enough to be shared among the threads
  for (int round = 0; round < 2; ++round) expect_same(normal_page(large), large, standard());
}

TEST_P(PageCodec, EqualsTheReferenceForEveryChunkLength) {
  for (const int chunk_tokens : {1, 3, 16, 31, 64, 256}) {
    const LynxLayout layout{200, 64, 5, chunk_tokens};
    expect_same(normal_page(layout), layout, standard());
  }
}

TEST_P(PageCodec, EqualsTheReferenceForEverySetting) {
  const LynxLayout layout{97, 64, 4, 32};
  for (const float alpha : {0.001f, 0.01f, 0.05f, 0.1f, 0.2f, 0.5f, 1.0f, 2.0f, 8.0f, 255.0f, 1000.0f})
    for (const int levels : {112, 120})
      for (const LynxCentre centre : {LynxCentre::mid, LynxCentre::mean})
        for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear}) {
          SCOPED_TRACE(::testing::Message() << "alpha " << alpha << ", levels " << levels << ", centre "
                                          << static_cast<int>(centre) << ", sigma " << static_cast<int>(sigma));
          const LynxCoding coding = make_lynx_coding(alpha, levels, centre, sigma);
          for (int i = 0; i < 8; ++i) expect_same(normal_page(layout), layout, coding);
        }
}

TEST_P(PageCodec, EqualsTheReferenceWhereScalarsAreFitted) {
  for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear})
    for (const int levels : {112, 120}) {
      const LynxCoding coding = make_lynx_coding(0.05f, levels, LynxCentre::mid, sigma, LynxFit::least_error);
      for (const int tokens : {1, 31, 32, 33, 100, 256})
        for (const int channels : {2, 34, 64, 66, 192}) {
          SCOPED_TRACE(::testing::Message() << tokens << " tokens, " << channels << " channels, " << levels << " levels");
          const LynxLayout layout{tokens, channels, std::min(4, tokens), 32};
          expect_same(normal_page(layout), layout, coding);
          expect_same(page(layout, [&](int t, int c) { return c % 5 == 0 ? 3.0f : static_cast<float>(t / 32 * c); }), layout, coding);
        }
      const LynxLayout one_chunk{256, 64, 4, 256};
      expect_same(normal_page(one_chunk), one_chunk, coding);
    }
}

TEST_P(PageCodec, EqualsTheReferenceOnArbitraryBits) {
  const LynxLayout layout{64, 64, 4, 32};
  for (int round = 0; round < 200; ++round) {
    std::vector<Bf16> rows(layout.raw_bytes() / 2);
    // Exponents in a window, so that pages with denormals, ordinary values and overflow all occur.
    const unsigned top = std::uniform_int_distribution<unsigned>(1, 255)(random_);
    const unsigned width = std::uniform_int_distribution<unsigned>(1, top)(random_);
    for (Bf16& x : rows) {
      const unsigned bits = random_();
      const unsigned exponent = top - 1 - (bits >> 8) % width;
      x.bits = static_cast<std::uint16_t>((bits & 0x807fu) | exponent << 7);
    }
    expect_same(rows, layout, standard());
  }
}

TEST_P(PageCodec, EqualsTheReferenceOnDenormalsZerosAndConstants) {
  const LynxLayout layout{70, 64, 2, 32};
  const auto bits = [](unsigned b) { return to_float(Bf16{static_cast<std::uint16_t>(b)}); };
  expect_same(page(layout, [&](int, int) { return bits(random_() % 2 == 0 ? 0x8000 : 0); }), layout, standard());
  expect_same(page(layout, [&](int, int) { return bits(random_() & 0x807f); }), layout, standard());
  expect_same(page(layout, [&](int, int c) { return bits(static_cast<unsigned>(c) * 1021u & 0xbfffu); }), layout, standard());
  expect_same(page(layout, [&](int t, int c) { return t == 40 && c % 3 == 0 ? 1e30f : bits(random_() & 0x807f); }), layout, standard());
  expect_same(page(layout, [&](int t, int) { return t < 33 ? 1.5f : -0.0f; }), layout, standard());
  expect_same(page(layout, [&](int t, int c) { return std::ldexp(1.0f + static_cast<float>(t % 3), c - 100); }), layout, standard());
  expect_same(page(layout, [&](int t, int c) { return (t + c) % 2 == 0 ? 8.5e37f : -8.5e37f; }), layout, standard());
}

// Values that put u exactly on, just below and just above thresholds: the guess must not decide these.
TEST_P(PageCodec, EqualsTheReferenceOnTies) {
  for (const float alpha : {0.05f, 0.5f, 2.0f}) {
    const LynxCoding coding = make_lynx_coding(alpha, 112, LynxCentre::mid, LynxSigma::log);
    const LynxLayout layout{256, 64, 0, 32};
    for (int round = 0; round < 20; ++round) {
      // x in units of 1/255 around a centre that mu8 holds exactly, spread over short ranges.
      const float unit = std::ldexp(1.0f, -static_cast<int>(random_() % 8));
      expect_same(page(layout, [&](int t, int) {
                    if (t == 0) return 0.0f;
                    if (t == 1) return 255.0f;
                    return 127.0f + unit * static_cast<float>(static_cast<int>(random_() % 257) - 128);
                  }),
                  layout, coding);
    }
  }
}

TEST_P(PageCodec, DecodesArbitraryPayloadsAsTheReferenceDoes) {
  const LynxLayout layout{65, 66, 3, 32};
  for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear})
    for (const int levels : {112, 120}) {
      const LynxCoding coding = make_lynx_coding(0.05f, levels, LynxCentre::mid, sigma);
      for (int round = 0; round < 50; ++round) {
        Payloads payloads{std::vector<std::byte>(layout.anchor_bytes()), std::vector<std::byte>(layout.nibble_bytes())};
        for (std::byte& b : payloads.anchor) b = static_cast<std::byte>(random_());
        for (std::byte& b : payloads.residual) b = static_cast<std::byte>(random_());
        for (std::size_t at = 0; at < layout.mu8_at(); at += 2)  // the caller refuses scales that are not finite
          payloads.anchor[at + 1] &= std::byte{0xbf};
        ASSERT_TRUE(lynx_scalars_are_finite(payloads.anchor.data(), layout));
        expect_same_decode(payloads, layout, coding);
      }
    }
}

TEST_P(PageCodec, FindsANanOrAnInfinityAnywhereInThePage) {
  const LynxLayout layout{40, 66, 4, 32};
  std::vector<Bf16> rows = normal_page(layout);
  Payloads out{std::vector<std::byte>(layout.anchor_bytes()), std::vector<std::byte>(layout.nibble_bytes())};
  std::vector<std::int16_t> workspace(layout.workspace());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const unsigned bits : {0x7f80u, 0xff80u, 0x7fc0u, 0xff81u, 0x7fffu, 0xffffu}) {
      const Bf16 kept = rows[i];
      rows[i].bits = static_cast<std::uint16_t>(bits);
      ASSERT_EQ(lynx_encode(rows.data(), layout, standard(), out.anchor.data(), out.residual.data(), workspace.data()),
                PageOutcome::not_finite)
          << "value " << i << ", bits " << bits;
      rows[i] = kept;
    }
}

TEST_P(PageCodec, TravelsRawFromTwoToThe126On) {
  const LynxLayout layout{40, 66, 4, 32};
  Payloads out{std::vector<std::byte>(layout.anchor_bytes()), std::vector<std::byte>(layout.nibble_bytes())};
  std::vector<std::int16_t> workspace(layout.workspace());
  const auto outcome = [&](std::size_t index, unsigned bits) {
    std::vector<Bf16> rows = normal_page(layout);
    rows[index].bits = static_cast<std::uint16_t>(bits);
    return lynx_encode(rows.data(), layout, standard(), out.anchor.data(), out.residual.data(), workspace.data());
  };
  EXPECT_EQ(outcome(5 * 66, 0x7e80), PageOutcome::raw);
  EXPECT_EQ(outcome(39 * 66 + 65, 0xfe80), PageOutcome::raw);
  EXPECT_EQ(outcome(5 * 66, 0x7e7f), PageOutcome::coded);
  EXPECT_EQ(outcome(5 * 66, 0xfe7f), PageOutcome::coded);
  EXPECT_EQ(outcome(3 * 66, 0x7f7f), PageOutcome::coded);  // a sink takes no part
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, PageCodec, ::testing::ValuesIn(codec_targets()),
                         [](const auto& tested) { return tested.param; });

TEST(PageCodecTargets, AreKnownByName) {
  EXPECT_FALSE(codec_targets().empty());
  EXPECT_EQ(codec_target(), codec_targets().front());
  EXPECT_THROW(use_codec_target("MMX"), Error);
}

}  // namespace
}  // namespace lynxkv::kernels
