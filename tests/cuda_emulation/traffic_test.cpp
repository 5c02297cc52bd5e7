// The bytes that the codec kernels move, counted: at most a tenth more than their input and output.
#include "codec/early.hpp"
#include "kernels/cuda/exact.hpp"
#include "tests/cuda_emulation/emulation.hpp"
#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

struct Counted {
  double bytes, sectors;  // over input + output
};

Counted counted(std::size_t input_and_output) {
  const cuda_emulation::Traffic& traffic = cuda_emulation::traffic();
  const double least = static_cast<double>(input_and_output);
  const Counted ratio{static_cast<double>(traffic.bytes_read + traffic.bytes_written) / least,
                      static_cast<double>(traffic.sectors_read + traffic.sectors_written) * 32 / least};
  cuda_emulation::clear_traffic();
  return ratio;
}

void check_page(const LynxLayout& layout) {
  SCOPED_TRACE(std::to_string(layout.tokens) + " tokens by " + std::to_string(layout.channels) + " channels");
  std::mt19937 draw(30);
  const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  cuda_emulation::reset({});
  const Stream stream;
  const rig::Page page(layout, {});
  const rig::Guarded outcomes(4);
  auto* const word = reinterpret_cast<std::uint32_t*>(outcomes.data());
  page.rows.put(rig::drawn_page(rig::Kind::bell, layout.tokens, layout.channels, draw).data(), stream);
  const LynxEncodePage encoding[] = {page.to_encode()};
  const LynxDecodePage decoding[] = {page.to_decode()};
  const auto expect_lean = [&](const char* what, std::size_t input_and_output) {
    const Counted ratio = counted(input_and_output);
    EXPECT_GE(ratio.bytes, 1.0) << what;
    EXPECT_LE(ratio.bytes, 1.1) << what;
    EXPECT_LE(ratio.sectors, 1.1) << what;
  };
  cuda_emulation::clear_traffic();
  lynx_encode(encoding, page.shape(), coding, word, stream.get());
  stream.synchronise();
  expect_lean("encode", layout.raw_bytes() + layout.anchor_bytes() + layout.nibble_bytes());
  lynx_decode_draft(decoding, page.shape(), coding, word, stream.get());
  stream.synchronise();
  expect_lean("draft", layout.raw_bytes() + layout.anchor_bytes());
  lynx_decode_full(decoding, page.shape(), coding, word, stream.get());
  stream.synchronise();
  expect_lean("full", layout.raw_bytes() + layout.anchor_bytes() + layout.nibble_bytes());
}

void check_integers(const UniformLayout& layout) {
  SCOPED_TRACE(std::to_string(layout.bits) + " bits");
  std::mt19937 draw(31);
  cuda_emulation::reset({});
  const Stream stream;
  const rig::Guarded rows(layout.values() * 2), payload(layout.payload_bytes()), outcomes(4);
  auto* const values = reinterpret_cast<Bf16*>(rows.data());
  auto* const word = reinterpret_cast<std::uint32_t*>(outcomes.data());
  rows.put(rig::drawn_page(rig::Kind::bell, layout.tokens, layout.channels, draw).data(), stream);
  const UniformShape shape{layout.channels, layout.head_dim, layout.bits, layout.per_channel};
  const UniformEncodePage encoding[] = {{values, payload.data(), layout.tokens}};
  const UniformDecodePage decoding[] = {{payload.data(), values, layout.tokens}};
  cuda_emulation::clear_traffic();
  uniform_encode(encoding, shape, word, stream.get());
  stream.synchronise();
  const auto expect_lean = [&](const char* what) {
    const Counted ratio = counted(layout.values() * 2 + layout.payload_bytes());
    EXPECT_GE(ratio.bytes, 1.0) << what;
    EXPECT_LE(ratio.bytes, 1.1) << what;
    EXPECT_LE(ratio.sectors, 1.1) << what;
  };
  expect_lean("encode");
  uniform_decode(decoding, shape, word, stream.get());
  stream.synchronise();
  expect_lean("decode");
}

void check_exact(const LynxLayout& layout) {
  SCOPED_TRACE(std::to_string(layout.tokens) + " tokens by " + std::to_string(layout.channels) + " channels");
  std::mt19937 draw(32);
  const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  const std::vector<Bf16> rows = rig::drawn_page(rig::Kind::bell, layout.tokens, layout.channels, draw);
  rig::Bytes anchor(layout.anchor_bytes()), residual(layout.nibble_bytes());
  std::vector<std::byte> exact;
  std::vector<std::int16_t> workspace(layout.workspace());
  ASSERT_EQ(kernels::lynx_encode(rows.data(), layout, coding, anchor.data(), residual.data(), workspace.data()), PageOutcome::coded);
  ExactWorkspace memory;
  kernels::exact_encode(rows.data(), anchor.data(), residual.data(), layout, coding, make_exact_tables(coding.tables), memory, exact);
  cuda_emulation::reset({});
  const Stream stream;
  const rig::Page page(layout, {});
  const rig::Guarded outcomes(4), payload(exact.size());
  auto* const word = reinterpret_cast<std::uint32_t*>(outcomes.data());
  page.anchor.put(anchor.data(), stream);
  page.residual.put(residual.data(), stream);
  payload.put(exact.data(), stream);
  const LynxDecodePage placed = page.to_decode();
  const rig::Guarded payload_again(exact_bound_bytes(layout)), size(4);
  page.rows.put(rows.data(), stream);
  const ExactEncodePage encoding[] = {{placed.rows, placed.anchor, placed.residual, payload_again.data(), layout.tokens, layout.sinks}};
  const ExactDecodePage decoding[] = {{placed.anchor, placed.residual, payload.data(), placed.rows, static_cast<std::uint32_t>(exact.size()), layout.tokens, layout.sinks}};
  const auto expect_lean = [&](const char* what) {
    const Counted ratio = counted(layout.raw_bytes() + layout.anchor_bytes() + layout.nibble_bytes() + exact.size());
    EXPECT_GE(ratio.bytes, 0.9) << what;  // encoding does not look at sinks
    EXPECT_LE(ratio.bytes, 1.1) << what;
    EXPECT_LE(ratio.sectors, 1.1) << what;
  };
  cuda_emulation::clear_traffic();
  exact_encode(encoding, page.shape(), coding, reinterpret_cast<std::uint32_t*>(size.data()), word, stream.get());
  stream.synchronise();
  expect_lean("encode");
  exact_decode(decoding, page.shape(), coding, word, stream.get());
  stream.synchronise();
  expect_lean("decode");
}

// `early`: behind the anchor. Contents do not matter to decoders but for the list, which move_early writes.
void check_early(const LynxLayout& layout, const codec::EarlyPlan& plan) {
  std::mt19937 draw(33);
  const LynxCoding coding = make_lynx_coding(0.05f, 120, LynxCentre::mid, LynxSigma::log);
  cuda_emulation::reset({});
  const Stream stream;
  const rig::Page page(layout, {});
  const rig::Guarded anchor(plan.anchor_bytes(layout)), left(plan.residual_bytes(layout)), outcomes(4);
  auto* const word = reinterpret_cast<std::uint32_t*>(outcomes.data());
  page.rows.put(rig::drawn_page(rig::Kind::bell, layout.tokens, layout.channels, draw).data(), stream);
  const LynxDecodePage placed = page.to_decode();
  const LynxEncodePage encoding[] = {{placed.rows, anchor.data(), page.residual.data(), layout.tokens, layout.sinks}};
  const EarlyMovePage moving[] = {{anchor.data(), page.residual.data(), left.data(), layout.tokens, layout.sinks, plan.pairs, plan.rows}};
  const LynxDecodePage decoding[] = {{anchor.data(), left.data(), placed.rows, layout.tokens, layout.sinks, plan.pairs, plan.rows}};
  const auto expect_lean = [&](const char* what, std::size_t input_and_output) {
    stream.synchronise();
    const Counted ratio = counted(input_and_output);
    EXPECT_GE(ratio.bytes, 1.0) << what;
    EXPECT_LE(ratio.bytes, 1.1) << what;
    EXPECT_LE(ratio.sectors, 1.1) << what;
  };
  lynx_encode(encoding, page.shape(), coding, word, stream.get());
  stream.synchronise();
  cuda_emulation::clear_traffic();
  move_early(moving, page.shape(), coding, word, stream.get());
  expect_lean("move", layout.nibble_bytes() * 2);
  lynx_decode_draft(decoding, page.shape(), coding, word, stream.get());
  expect_lean("draft", layout.raw_bytes() + plan.anchor_bytes(layout));
  lynx_decode_full(decoding, page.shape(), coding, word, stream.get());
  expect_lean("full", layout.raw_bytes() + plan.anchor_bytes(layout) + plan.residual_bytes(layout));
}

TEST(CudaTraffic, OfEarlyResidualsIsAtMostATenthMoreThanInputAndOutput) {
  check_early({256, 192, 4, 32}, {8, 24});
  check_early({256, 1024, 0, 32}, {8, 0});
}

TEST(CudaTraffic, OfTheExactStreamIsAtMostATenthMoreThanInputAndOutput) {
  check_exact({256, 192, 4, 32});
  check_exact({256, 1024, 4, 32});
  check_exact({100, 128, 0, 32});
  check_exact({40, 4096, 4, 32});
  check_exact({32, 8192, 4, 32});
}

TEST(CudaTraffic, IsAtMostATenthMoreThanInputAndOutput) {
  check_page({256, 192, 4, 32});
  check_page({256, 1024, 0, 32});
  check_page({100, 128, 0, 32});
  for (const int bits : {4, 8})
    for (const bool per_channel : {false, true}) check_integers({256, 192, 64, bits, per_channel});
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
