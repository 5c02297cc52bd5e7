// The golden pages, encoded and decoded on the device.
#include "tests/codec/golden.hpp"

#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;
using rig::expect_equal;

LynxCoding coding_of(const codec::CodecOptions& options) {
  return make_lynx_coding(options.alpha, options.levels,
                          options.centre == codec::Centre::mid ? LynxCentre::mid : LynxCentre::mean,
                          options.sigma == codec::Sigma::log ? LynxSigma::log : LynxSigma::linear);
}

void round_trip(const codec::golden::Case& one) {
  const LynxLayout layout{one.shape.tokens, one.shape.channels, std::min(one.options.sinks, one.shape.tokens), one.shape.chunk_tokens};
  const LynxCoding coding = coding_of(one.options);
  const Stream stream;
  const rig::Page page(layout, {});
  const rig::Guarded outcomes(4);
  page.rows.put(codec::golden::read(one.name + ".kv.bin").data(), stream);
  const LynxEncodePage encoding[] = {page.to_encode()};
  lynx_encode(encoding, page.shape(), coding, reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  const std::uint32_t outcome = rig::take_outcomes(outcomes, stream)[0];
  if (one.name == "edge_range_overflow_raw") {
    EXPECT_EQ(outcome, static_cast<std::uint32_t>(PageOutcome::raw));
    return;
  }
  EXPECT_EQ(outcome, static_cast<std::uint32_t>(PageOutcome::coded));
  expect_equal(page.anchor.take(stream), codec::golden::read(one.name + ".anchor.bin"), "anchor");
  expect_equal(page.residual.take(stream), codec::golden::read(one.name + ".residual.bin"), "residual");

  const LynxDecodePage decoding[] = {page.to_decode()};
  fill_device(page.rows.data(), 0xee, page.rows.bytes(), stream.get());
  lynx_decode_draft(decoding, page.shape(), coding, reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  expect_equal(page.rows.take(stream), codec::golden::read(one.name + ".draft.bin"), "draft");
  lynx_decode_full(decoding, page.shape(), coding, reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  expect_equal(page.rows.take(stream), codec::golden::read(one.name + ".full.bin"), "full");
  EXPECT_EQ(rig::take_outcomes(outcomes, stream)[0], static_cast<std::uint32_t>(PageOutcome::coded));
}

TEST(CudaGoldenPages, EncodeToTheGoldenBytesAndDecodeToTheGoldenValues) {
  LYNXKV_NEEDS_DEVICE();
  rig::under_every_setup([] {
    for (const codec::golden::Case& one : codec::golden::cases()) {
      SCOPED_TRACE(one.name);
      round_trip(one);
    }
  });
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
