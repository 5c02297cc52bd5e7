// The device's bytes against the CPU's, over shapes, settings and kinds of numbers.
#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;
using rig::expect_equal;
using rig::Kind;

struct OnCpu {
  Bytes anchor, residual, draft, full;

  OnCpu(const std::vector<Bf16>& rows, const LynxLayout& layout, const LynxCoding& coding)
      : anchor(layout.anchor_bytes()), residual(layout.nibble_bytes()) {
    std::vector<std::int16_t> workspace(layout.workspace());
    EXPECT_EQ(kernels::lynx_encode(rows.data(), layout, coding, anchor.data(), residual.data(), workspace.data()), PageOutcome::coded);
    std::vector<Bf16> values(rows.size());
    kernels::lynx_decode_draft(anchor.data(), layout, coding, values.data());
    draft = rig::bytes_of(values);
    kernels::lynx_decode_full(anchor.data(), residual.data(), layout, coding, values.data());
    full = rig::bytes_of(values);
  }
};

// Encodes all pages in one call, and decodes them in one call each.
void compare(const std::vector<LynxLayout>& layouts, const LynxCoding& coding, Kind kind, std::mt19937& draw, const rig::Offsets& at = {}) {
  const Stream stream;
  std::vector<rig::Page> pages;
  std::vector<OnCpu> expected;
  std::vector<LynxEncodePage> encoding;
  std::vector<LynxDecodePage> decoding;
  for (const LynxLayout& layout : layouts) {
    const std::vector<Bf16> rows = rig::drawn_page(kind, layout.tokens, layout.channels, draw);
    pages.emplace_back(layout, at);
    pages.back().rows.put(rows.data(), stream);
    expected.emplace_back(rows, layout, coding);
    encoding.push_back(pages.back().to_encode());
    decoding.push_back(pages.back().to_decode());
  }
  const rig::Guarded outcomes(4 * pages.size());
  auto* const words = reinterpret_cast<std::uint32_t*>(outcomes.data());
  const auto all_coded = [&] { EXPECT_EQ(rig::take_outcomes(outcomes, stream), std::vector<std::uint32_t>(pages.size(), 0)); };
  lynx_encode(encoding, pages[0].shape(), coding, words, stream.get());
  all_coded();
  for (std::size_t i = 0; i < pages.size(); ++i) {
    expect_equal(pages[i].anchor.take(stream), expected[i].anchor, "anchor");
    expect_equal(pages[i].residual.take(stream), expected[i].residual, "residual");
  }
  lynx_decode_draft(decoding, pages[0].shape(), coding, words, stream.get());
  all_coded();
  for (std::size_t i = 0; i < pages.size(); ++i) expect_equal(pages[i].rows.take(stream), expected[i].draft, "draft");
  lynx_decode_full(decoding, pages[0].shape(), coding, words, stream.get());
  all_coded();
  for (std::size_t i = 0; i < pages.size(); ++i) expect_equal(pages[i].rows.take(stream), expected[i].full, "full");
}

const LynxCoding& default_coding() {
  static const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  return coding;
}

class CudaAgainstCpu : public testing::TestWithParam<int> {};

TEST_P(CudaAgainstCpu, GivesTheSameBytesForEveryLengthOfAPage) {
  LYNXKV_NEEDS_DEVICE();
  const int channels = GetParam();
  std::mt19937 draw(static_cast<unsigned>(channels));
  rig::under_every_setup([&] {
    std::vector<LynxLayout> layouts;
    for (const int tokens : {1, 31, 32, 33, 255, 256})
      for (const int sinks : {0, 4}) layouts.push_back({tokens, channels, std::min(sinks, tokens), 32});
    if (channels >= 1024) layouts = {{33, channels, 4, 32}, {256, channels, 0, 32}};
    compare(layouts, default_coding(), Kind::bell, draw);
  });
}
INSTANTIATE_TEST_SUITE_P(Channels, CudaAgainstCpu, testing::Values(2, 10, 16, 64, 72, 192, 1024), testing::PrintToStringParamName());

TEST(CudaLynx, GivesTheSameBytesForEveryKindOfNumber) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(7);
  rig::under_every_setup([&] {
    for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind) {
      SCOPED_TRACE("kind " + std::to_string(kind));
      compare({{70, 24, 4, 32}, {64, 24, 0, 32}}, default_coding(), static_cast<Kind>(kind), draw);
    }
  });
}

TEST(CudaLynx, GivesTheSameBytesForEverySetting) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(8);
  for (const LynxCentre centre : {LynxCentre::mid, LynxCentre::mean})
    for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear})
      for (const int levels : {112, 120})
        for (const float alpha : {0.001f, 0.05f, 0.7f, 2.0f, 15.0f, 1000.0f}) {
          SCOPED_TRACE("alpha " + std::to_string(alpha) + ", levels " + std::to_string(levels));
          const LynxCoding coding = make_lynx_coding(alpha, levels, centre, sigma);
          compare({{65, 32, 4, 32}}, coding, Kind::bell, draw);
          compare({{40, 6, 0, 32}}, coding, Kind::bits, draw);
        }
}

TEST(CudaLynx, FitsScalarsAsTheCpuDoes) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(14);
  rig::under_every_setup([&] {
    for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear})
      for (const LynxCentre centre : {LynxCentre::mid, LynxCentre::mean}) {
        const LynxCoding coding = make_lynx_coding(0.05f, sigma == LynxSigma::log ? 112 : 120, centre, sigma, LynxFit::least_error);
        for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind) compare({{70, 24, 4, 32}, {33, 24, 0, 32}, {3, 24, 3, 32}}, coding, static_cast<Kind>(kind), draw);
        compare({{256, 66, 4, 16}}, coding, Kind::bell, draw);
      }
  });
}

TEST(CudaLynx, TakesChunksOfAnyLength) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(9);
  for (const int chunk_tokens : {1, 7, 16, 33, 64, 100, 256}) {
    SCOPED_TRACE(chunk_tokens);
    compare({{130, 16, 5, chunk_tokens}, {256, 16, 0, chunk_tokens}, {3, 16, 0, chunk_tokens}}, default_coding(), Kind::outliers, draw);
  }
}

TEST(CudaLynx, TakesPagesOfSinksOnlyAndSinksThatFillAChunk) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(10);
  rig::under_every_setup([&] { compare({{3, 8, 3, 32}, {64, 8, 32, 32}, {64, 8, 64, 32}, {40, 8, 33, 32}}, default_coding(), Kind::bell, draw); });
}

TEST(CudaLynx, NeedsNoMoreThanFourByteAlignment) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(11);
  rig::under_every_setup([&] {
    for (const int channels : {16, 10})
      for (const rig::Offsets& at : {rig::Offsets{4, 0, 0}, {0, 4, 0}, {0, 0, 1}, {8, 12, 3}})
        compare({{70, channels, 3, 32}}, default_coding(), Kind::bell, draw, at);
  });
}

TEST(CudaLynx, TakesMorePagesThanOneLaunchHolds) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(12);
  std::vector<LynxLayout> layouts;
  for (int i = 0; i < 101; ++i) layouts.push_back({1 + i % 70, 8, i % 7 == 0 ? 1 : 0, 32});
  compare(layouts, default_coding(), Kind::bell, draw);
}

TEST(CudaLynx, WritesTheAnchorAloneWhereNoResidualIsWanted) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(13);
  const LynxLayout layout{64, 16, 4, 32};
  const std::vector<Bf16> rows = rig::drawn_page(Kind::bell, layout.tokens, layout.channels, draw);
  const OnCpu expected(rows, layout, default_coding());
  const Stream stream;
  const rig::Page page(layout, {});
  const rig::Guarded outcomes(4);
  page.rows.put(rows.data(), stream);
  const LynxEncodePage encoding[] = {page.to_encode(false)};
  lynx_encode(encoding, page.shape(), default_coding(), reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  expect_equal(page.anchor.take(stream), expected.anchor, "anchor");
  expect_equal(page.residual.take(stream), Bytes(layout.nibble_bytes(), std::byte{0x5a}), "residual");
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
