// Pages that cannot be coded, payloads that no encoder writes.
#include <limits>

#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;
using rig::Kind;

LynxCoding coding() { return make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log); }

std::uint32_t word(PageOutcome outcome) { return static_cast<std::uint32_t>(outcome); }

TEST(CudaLynx, SaysOfEachPageOfACallWhatBecameOfIt) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(20);
  const LynxLayout layout{70, 72, 4, 32};
  const auto values = static_cast<std::size_t>(layout.tokens) * static_cast<std::size_t>(layout.channels);
  const Bf16 nan{0x7fc1}, minus_nan{0xff81}, infinite{0x7f80}, minus_infinite{0xff80}, large{0x7e80}, minus_large{0xfeff}, fits{0x7e7f};
  struct Planted {
    std::size_t at;
    Bf16 value;
    PageOutcome outcome;
  };
  const std::size_t in_a_sink = 3 * 72 + 71, first_coded = 4 * 72;
  const Planted planted[] = {
      {first_coded, nan, PageOutcome::not_finite},    {values - 1, minus_nan, PageOutcome::not_finite},
      {5000, infinite, PageOutcome::not_finite},      {4999, minus_infinite, PageOutcome::not_finite},
      {in_a_sink, nan, PageOutcome::not_finite},      {0, infinite, PageOutcome::not_finite},
      {3333, large, PageOutcome::raw},                {values - 72, minus_large, PageOutcome::raw},
      {in_a_sink, large, PageOutcome::coded},         {3333, fits, PageOutcome::coded},
  };
  rig::under_every_setup([&] {
    const Stream stream;
    std::vector<rig::Page> pages;
    std::vector<LynxEncodePage> encoding;
    std::vector<std::uint32_t> expected;
    for (const Planted& one : planted) {
      std::vector<Bf16> rows = rig::drawn_page(Kind::bell, layout.tokens, layout.channels, draw);
      rows[one.at] = one.value;
      pages.emplace_back(layout, rig::Offsets{});
      pages.back().rows.put(rows.data(), stream);
      encoding.push_back(pages.back().to_encode());
      expected.push_back(word(one.outcome));
      Bytes anchor(layout.anchor_bytes()), residual(layout.nibble_bytes());
      EXPECT_EQ(reference::lynx_encode(rows.data(), layout, coding(), anchor.data(), residual.data()), one.outcome);
    }
    const rig::Guarded outcomes(4 * pages.size());
    lynx_encode(encoding, pages[0].shape(), coding(), reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
    EXPECT_EQ(rig::take_outcomes(outcomes, stream), expected);
    for (const rig::Page& page : pages) {  // whatever the outcome, nothing beside the payloads is touched
      page.anchor.take(stream);
      page.residual.take(stream);
    }
  });
}

TEST(CudaLynx, CarriesARawPageByACopy) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(21);
  const std::vector<Bf16> rows = rig::drawn_page(Kind::bell, 40, 8, draw);
  rig::under_every_setup([&] {
    const Stream stream;
    const rig::Guarded from(640), payload(640);
    from.put(rows.data(), stream);
    copy_on_device(payload.data(), from.data(), 640, stream.get());
    EXPECT_EQ(payload.take(stream), rig::bytes_of(rows));
  });
}

TEST(CudaLynx, DecodesAnyNibblesAndChunkScalarsAsTheCpuDoes) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(22);
  for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear}) {
    const LynxCoding used = make_lynx_coding(1.0f, 120, LynxCentre::mid, sigma);
    const LynxLayout layout{100, 24, 4, 32};
    Bytes anchor(layout.anchor_bytes()), residual(layout.nibble_bytes());
    for (std::byte& byte : anchor) byte = static_cast<std::byte>(draw());
    for (std::byte& byte : residual) byte = static_cast<std::byte>(draw());
    const std::vector<Bf16> finite = rig::drawn_page(Kind::bits, 1, static_cast<int>(layout.mu8_at() / 2), draw);
    std::memcpy(anchor.data(), finite.data(), layout.mu8_at());
    std::vector<Bf16> draft(2400), full(2400);
    kernels::lynx_decode_draft(anchor.data(), layout, used, draft.data());
    kernels::lynx_decode_full(anchor.data(), residual.data(), layout, used, full.data());

    const Stream stream;
    const rig::Page page(layout, {});
    const rig::Guarded outcomes(4);
    page.anchor.put(anchor.data(), stream);
    page.residual.put(residual.data(), stream);
    const LynxDecodePage decoding[] = {page.to_decode()};
    lynx_decode_draft(decoding, page.shape(), used, reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
    rig::expect_equal(page.rows.take(stream), rig::bytes_of(draft), "draft");
    lynx_decode_full(decoding, page.shape(), used, reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
    rig::expect_equal(page.rows.take(stream), rig::bytes_of(full), "full");
    EXPECT_EQ(rig::take_outcomes(outcomes, stream)[0], word(PageOutcome::coded));
  }
}

TEST(CudaLynx, ReportsAPayloadWhosePageScalarsOrSinksAreNotFinite) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(23);
  const LynxLayout layout{70, 72, 4, 32};
  const std::vector<Bf16> rows = rig::drawn_page(Kind::bell, layout.tokens, layout.channels, draw);
  Bytes good(layout.anchor_bytes()), residual(layout.nibble_bytes());
  ASSERT_EQ(reference::lynx_encode(rows.data(), layout, coding(), good.data(), residual.data()), PageOutcome::coded);
  const Stream stream;
  std::vector<rig::Page> pages;
  std::vector<LynxDecodePage> decoding;
  const std::size_t damaged[] = {0, layout.gmin_at() - 2, layout.gmin_at(), layout.gscale_at() - 2, layout.gscale_at(), layout.mu8_at() - 2};
  for (const std::size_t at : damaged) {
    Bytes anchor = good;
    anchor[at] = std::byte{0x80};
    anchor[at + 1] = std::byte{0x7f};
    pages.emplace_back(layout, rig::Offsets{});
    pages.back().anchor.put(anchor.data(), stream);
    pages.back().residual.put(residual.data(), stream);
    decoding.push_back(pages.back().to_decode());
  }
  pages.emplace_back(layout, rig::Offsets{});
  pages.back().anchor.put(good.data(), stream);
  pages.back().residual.put(residual.data(), stream);
  decoding.push_back(pages.back().to_decode());
  std::vector<std::uint32_t> expected(pages.size(), word(PageOutcome::not_finite));
  expected.back() = word(PageOutcome::coded);
  const rig::Guarded outcomes(4 * pages.size());
  lynx_decode_draft(decoding, pages[0].shape(), coding(), reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), expected);
  lynx_decode_full(decoding, pages[0].shape(), coding(), reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), expected);
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
