#include "tests/codec/golden.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

// Which instruction set, and which page.
class GoldenPage : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { kernels::use_codec_target(GetParam()); }
  void TearDown() override { kernels::use_codec_target(""); }
};

std::size_t first_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}
void expect_equal(const std::vector<std::byte>& found, const std::vector<std::byte>& expected, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  EXPECT_EQ(found, expected) << what << ": first difference at byte " << first_difference(found, expected);
}
std::vector<std::byte> bytes_of(const std::vector<Bf16>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST_P(GoldenPage, EncodesToTheGoldenBytesAndDecodesToTheGoldenValues) {
  for (const golden::Case& one : golden::cases()) {
    SCOPED_TRACE(one.name);
    const auto codec = make_codec("lynx", one.options);
    const std::vector<Bf16> kv = golden::read_bf16(one.name + ".kv.bin");
    const std::vector<std::byte> anchor = golden::read(one.name + ".anchor.bin");
    const std::vector<std::byte> residual = golden::read(one.name + ".residual.bin");
    Encoded out;
    codec->encode(kv.data(), one.shape, out).take();
    expect_equal(out.payload[0], anchor, "anchor");
    expect_equal(out.payload[1], residual, "residual");
    EXPECT_EQ(out.raw, one.name == "edge_range_overflow_raw");
    EXPECT_EQ(codec->payload_bytes(StreamId::anchor, one.shape, out.raw), anchor.size());
    EXPECT_EQ(codec->payload_bytes(StreamId::residual, one.shape, out.raw), residual.size());

    Payloads in;
    in.raw = out.raw;
    in.payload[0] = anchor;
    std::vector<Bf16> rows(kv.size());
    codec->decode(Level::draft, in, one.shape, rows.data()).take();
    expect_equal(bytes_of(rows), golden::read(one.name + ".draft.bin"), "draft");
    in.payload[1] = residual;
    codec->decode(Level::target, in, one.shape, rows.data()).take();
    expect_equal(bytes_of(rows), golden::read(one.name + ".full.bin"), "full");
  }
}

TEST_P(GoldenPage, ComesOutTheSameInEveryModeOfTheFamily) {
  for (const golden::Case& one : golden::cases()) {
    SCOPED_TRACE(one.name);
    const std::vector<Bf16> kv = golden::read_bf16(one.name + ".kv.bin");
    Encoded out;
    make_codec("lynx-int8", one.options)->encode(kv.data(), one.shape, out).take();
    std::vector<Bf16> rows(kv.size());
    Payloads in{{out.payload[0], out.payload[1], {}}, out.raw};
    make_codec("lynx-int8", one.options)->decode(Level::target, in, one.shape, rows.data()).take();
    expect_equal(bytes_of(rows), golden::read(one.name + ".full.bin"), "lynx-int8");

    make_codec("lynx-int4", one.options)->encode(kv.data(), one.shape, out).take();
    EXPECT_TRUE(out.payload[1].empty());
    in = Payloads{{out.payload[0], {}, {}}, out.raw};
    make_codec("lynx-int4", one.options)->decode(Level::target, in, one.shape, rows.data()).take();
    expect_equal(bytes_of(rows), golden::read(one.name + ".draft.bin"), "lynx-int4");
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, GoldenPage, testing::ValuesIn(kernels::codec_targets()),
                         [](const auto& tested) { return tested.param; });

TEST(LynxTables, EqualTheGoldenTables) {
  struct Table {
    const char* file;
    float alpha;
    int levels;
  };
  for (const Table& t : {Table{"table_a0.01_L112.bin", 0.01f, 112}, {"table_a0.05_L112.bin", 0.05f, 112},
                         {"table_a0.5_L120.bin", 0.5f, 120}, {"table_a16_L112.bin", 16, 112},
                         {"table_a1_L112.bin", 1, 112}, {"table_a255_L120.bin", 255, 120},
                         {"table_a2_L120.bin", 2, 120}, {"table_a4_L112.bin", 4, 112}, {"table_a8_L120.bin", 8, 120}}) {
    SCOPED_TRACE(t.file);
    const kernels::LynxTables tables =
        kernels::make_lynx_coding(t.alpha, t.levels, kernels::LynxCentre::mid, kernels::LynxSigma::log).tables;
    std::vector<float> found(tables.level, tables.level + t.levels + 1);
    found.insert(found.end(), tables.threshold + 1, tables.threshold + t.levels + 1);
    found.insert(found.end(), tables.draft, tables.draft + 8);
    EXPECT_EQ(found, golden::read_float(t.file));
  }
}

TEST(LynxTables, EqualTheGoldenScalars) {
  const kernels::LynxTables tables =
      kernels::make_lynx_coding(1, 112, kernels::LynxCentre::mid, kernels::LynxSigma::log).tables;
  EXPECT_EQ(std::vector<float>(tables.scalar, tables.scalar + 255), golden::read_float("sigma_log.bin"));
  EXPECT_EQ(tables.scalar[255], 0.0f);
}

}  // namespace
}  // namespace lynxkv::codec
