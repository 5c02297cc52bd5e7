// One page of the host's through the device and back.
#include "kernels/cuda/codec_page.hpp"
#include "kernels/exact.hpp"

#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;

TEST(CudaPage, OfTheHostIsCodedAsOnTheCpu) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(70);
  const LynxLayout layout{70, 24, 4, 32};
  const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  const std::vector<Bf16> rows = rig::drawn_page(rig::Kind::bell, 70, 24, draw);
  rig::under_every_setup([&] {
    Bytes anchor(layout.anchor_bytes()), residual(layout.nibble_bytes()), anchor_alone = anchor, expected = anchor, expected_residual = residual;
    EXPECT_EQ(reference::lynx_encode(rows.data(), layout, coding, expected.data(), expected_residual.data()), PageOutcome::coded);
    EXPECT_EQ(lynx_encode_page(rows.data(), layout, coding, anchor.data(), residual.data()), PageOutcome::coded);
    EXPECT_EQ(lynx_encode_page(rows.data(), layout, coding, anchor_alone.data(), nullptr), PageOutcome::coded);
    rig::expect_equal(anchor, expected, "anchor");
    rig::expect_equal(anchor_alone, expected, "anchor alone");
    rig::expect_equal(residual, expected_residual, "residual");
    std::vector<Bf16> found(rows.size()), wanted(rows.size());
    reference::lynx_decode_draft(anchor.data(), layout, coding, wanted.data());
    EXPECT_TRUE(lynx_decode_page(anchor.data(), nullptr, layout, coding, found.data()));
    EXPECT_EQ(found, wanted);
    reference::lynx_decode_full(anchor.data(), residual.data(), layout, coding, wanted.data());
    EXPECT_TRUE(lynx_decode_page(anchor.data(), residual.data(), layout, coding, found.data()));
    EXPECT_EQ(found, wanted);
    anchor[layout.gmin_at()] = std::byte{0x80}, anchor[layout.gmin_at() + 1] = std::byte{0x7f};
    EXPECT_FALSE(lynx_decode_page(anchor.data(), nullptr, layout, coding, found.data()));
    EXPECT_EQ(found, wanted) << "rows are untouched";
  });
}

TEST(CudaPage, HasAnExactStreamThatRestoresItsBits) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(73);
  const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  for (const LynxLayout& layout : {LynxLayout{70, 24, 4, 32}, {3, 8, 3, 32}}) {
    const std::vector<Bf16> rows = rig::drawn_page(rig::Kind::bell, layout.tokens, layout.channels, draw);
    Bytes anchor(layout.anchor_bytes()), residual(layout.nibble_bytes() + 1);
    ASSERT_EQ(lynx_encode_page(rows.data(), layout, coding, anchor.data(), residual.data()), PageOutcome::coded);
    std::vector<std::byte> exact, expected;
    ExactWorkspace memory;
    kernels::exact_encode(rows.data(), anchor.data(), residual.data(), layout, coding, make_exact_tables(coding.tables), memory, expected);
    exact_encode_page(rows.data(), anchor.data(), residual.data(), layout, coding, exact);
    EXPECT_EQ(exact, expected);
    std::vector<Bf16> found(rows.size());
    ASSERT_TRUE(exact_decode_page(anchor.data(), residual.data(), exact, layout, coding, found.data()).ok());
    EXPECT_EQ(found, rows);
    exact.push_back(std::byte{0});
    const auto damaged = exact_decode_page(anchor.data(), residual.data(), exact, layout, coding, found.data());
    ASSERT_FALSE(damaged.ok());
    EXPECT_EQ(damaged.error().code(), ErrorCode::bad_data);
    EXPECT_EQ(found, rows) << "rows are untouched";
  }
}

TEST(CudaPage, OfSinksOnlyNeedsNoResidual) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(71);
  const LynxLayout layout{3, 8, 3, 32};
  const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  const std::vector<Bf16> rows = rig::drawn_page(rig::Kind::bell, 3, 8, draw);
  Bytes anchor(layout.anchor_bytes()), residual(1);
  std::vector<Bf16> found(rows.size());
  EXPECT_EQ(lynx_encode_page(rows.data(), layout, coding, anchor.data(), residual.data()), PageOutcome::coded);
  EXPECT_TRUE(lynx_decode_page(anchor.data(), residual.data(), layout, coding, found.data()));
  EXPECT_EQ(found, rows);
}

TEST(CudaPage, OfIntegersIsCodedAsOnTheCpu) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(72);
  const UniformLayout layout{33, 24, 8, 4, false};
  std::vector<Bf16> rows = rig::drawn_page(rig::Kind::bell, 33, 24, draw), found(rows.size()), wanted(rows.size());
  Bytes payload(layout.payload_bytes()), expected = payload;
  EXPECT_EQ(kernels::uniform_encode(rows.data(), layout, expected.data()), PageOutcome::coded);
  kernels::uniform_decode(expected.data(), layout, wanted.data());
  EXPECT_EQ(uniform_encode_page(rows.data(), layout, payload.data()), PageOutcome::coded);
  EXPECT_EQ(payload, expected);
  EXPECT_TRUE(uniform_decode_page(payload.data(), layout, found.data()));
  EXPECT_EQ(found, wanted);
  rows[40].bits = 0x7fc0;
  EXPECT_EQ(uniform_encode_page(rows.data(), layout, payload.data()), PageOutcome::not_finite);
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
