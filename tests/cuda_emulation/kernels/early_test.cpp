// Early residuals on the device: chosen and moved as the CPU does it, read by drafts, full and exact
// decoding.
#include "codec/early.hpp"

#include "kernels/cuda/exact.hpp"
#include "kernels/exact.hpp"
#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using codec::EarlyPlan;
using rig::Bytes;
using rig::Kind;

const LynxCoding& coding() {
  static const LynxCoding made = make_lynx_coding(0.05f, 120, LynxCentre::mid, LynxSigma::log);
  return made;
}

// A page, its payloads as the CPU makes them, and what they decode to.
struct EarlyOnCpu {
  LynxLayout layout;
  EarlyPlan plan;
  std::vector<Bf16> rows, draft, full;
  std::vector<std::byte> anchor, whole, residual, exact;

  EarlyOnCpu(const LynxLayout& placed, EarlyPlan planned, Kind kind, std::mt19937& draw)
      : layout(placed),
        plan(planned),
        rows(rig::drawn_page(kind, placed.tokens, placed.channels, draw)),
        draft(rows.size()),
        full(rows.size()),
        anchor(planned.any() ? planned.anchor_bytes(placed) : placed.anchor_bytes()),
        whole(placed.nibble_bytes()) {
    std::vector<std::int16_t> workspace(layout.workspace());
    EXPECT_EQ(
        kernels::lynx_encode(rows.data(), layout, coding(), anchor.data(), whole.data(), workspace.data()),
        PageOutcome::coded);
    ExactWorkspace memory;
    kernels::exact_encode(rows.data(), anchor.data(), whole.data(), layout, coding(),
                          make_exact_tables(coding().tables), memory, exact);
    kernels::lynx_decode_full(anchor.data(), whole.data(), layout, coding(), full.data());
    residual = whole;
    codec::move_early(plan, layout, coding(), anchor, residual);
    std::vector<std::byte> for_draft;
    if (!plan.any())
      kernels::lynx_decode_draft(anchor.data(), layout, coding(), draft.data());
    else if (codec::join_early(plan, layout, anchor, {}, for_draft).ok())
      kernels::lynx_decode_full(anchor.data(), for_draft.data(), layout, coding(), draft.data());
  }
};

struct EarlyOnDevice {
  const EarlyOnCpu& given;
  rig::Guarded rows, anchor, whole, residual, exact;

  EarlyOnDevice(const EarlyOnCpu& page, std::span<const std::byte> anchor_payload, const Stream& stream)
      : given(page),
        rows(page.rows.size() * 2),
        anchor(anchor_payload.size()),
        whole(page.whole.size()),
        residual(page.residual.size()),
        exact(page.exact.size()) {
    rows.put(page.rows.data(), stream);
    anchor.put(anchor_payload.data(), stream);
    whole.put(page.whole.data(), stream);
    residual.put(page.residual.data(), stream);
    exact.put(page.exact.data(), stream);
  }
  Bf16* values() const { return reinterpret_cast<Bf16*>(rows.data()); }
  LynxEncodePage to_encode() const {
    return {values(), anchor.data(), whole.data(), given.layout.tokens, given.layout.sinks};
  }
  EarlyMovePage to_move() const {
    return {anchor.data(),      whole.data(),     residual.data(), given.layout.tokens,
            given.layout.sinks, given.plan.pairs, given.plan.rows};
  }
  LynxDecodePage to_decode(bool with_residual) const {
    return {anchor.data(),      with_residual ? residual.data() : nullptr,
            values(),           given.layout.tokens,
            given.layout.sinks, given.plan.pairs,
            given.plan.rows};
  }
  ExactDecodePage to_restore() const {
    return {anchor.data(),
            residual.data(),
            exact.data(),
            values(),
            static_cast<std::uint32_t>(exact.bytes()),
            given.layout.tokens,
            given.layout.sinks,
            static_cast<std::uint16_t>(given.plan.pairs),
            static_cast<std::uint16_t>(given.plan.rows)};
  }
};

// The pages of one call: each kernel's part, and the outcomes.
struct EarlyCall {
  Stream stream;
  LynxShape shape;
  std::vector<EarlyOnDevice> pages;
  rig::Guarded outcomes;

  EarlyCall(const std::vector<EarlyOnCpu>& given, const std::vector<std::vector<std::byte>>& anchors)
      : shape{given[0].layout.channels, given[0].layout.chunk_tokens}, outcomes(4 * anchors.size()) {
    for (std::size_t i = 0; i < anchors.size(); ++i)
      pages.emplace_back(given[given.size() == 1 ? 0 : i], anchors[i], stream);
  }
  std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(outcomes.data()); }
  template <class Page, class Form>
  std::vector<Page> all(Form form) const {
    std::vector<Page> made;
    for (const EarlyOnDevice& page : pages) made.push_back(form(page));
    return made;
  }
  std::vector<std::uint32_t> draft() const {
    lynx_decode_draft(all<LynxDecodePage>([](const auto& page) { return page.to_decode(false); }), shape,
                      coding(), words(), stream.get());
    return rig::take_outcomes(outcomes, stream);
  }
  std::vector<std::uint32_t> full() const {
    lynx_decode_full(all<LynxDecodePage>([](const auto& page) { return page.to_decode(true); }), shape,
                     coding(), words(), stream.get());
    return rig::take_outcomes(outcomes, stream);
  }
  std::vector<std::uint32_t> exact() const {
    exact_decode(all<ExactDecodePage>([](const auto& page) { return page.to_restore(); }), shape, coding(),
                 words(), stream.get());
    return rig::take_outcomes(outcomes, stream);
  }
};

std::vector<std::vector<std::byte>> anchors_of(const std::vector<EarlyOnCpu>& given) {
  std::vector<std::vector<std::byte>> anchors;
  for (const EarlyOnCpu& page : given) anchors.push_back(page.anchor);
  return anchors;
}

void compare(const std::vector<EarlyOnCpu>& given) {
  const std::vector<std::uint32_t> all_coded(given.size(), 0);
  const EarlyCall call(given, anchors_of(given));
  const auto expect_rows = [&](std::vector<Bf16> EarlyOnCpu::*wanted, const char* what) {
    for (std::size_t i = 0; i < given.size(); ++i)
      rig::expect_equal(call.pages[i].rows.take(call.stream), rig::bytes_of(given[i].*wanted), what);
  };
  EXPECT_EQ(call.draft(), all_coded);
  expect_rows(&EarlyOnCpu::draft, "draft");
  EXPECT_EQ(call.full(), all_coded);
  expect_rows(&EarlyOnCpu::full, "full");
  EXPECT_EQ(call.exact(), all_coded);
  expect_rows(&EarlyOnCpu::rows, "exact");

  std::vector<std::vector<std::byte>> empty;  // and from the rows again
  for (const EarlyOnCpu& page : given) empty.emplace_back(page.anchor.size());
  const EarlyCall encoding(given, empty);
  lynx_encode(encoding.all<LynxEncodePage>([](const auto& page) { return page.to_encode(); }), encoding.shape,
              coding(), encoding.words(), encoding.stream.get());
  move_early(encoding.all<EarlyMovePage>([](const auto& page) { return page.to_move(); }), encoding.shape,
             coding(), encoding.words(), encoding.stream.get());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].plan.any()) continue;
    rig::expect_equal(encoding.pages[i].anchor.take(encoding.stream), given[i].anchor, "anchor");
    rig::expect_equal(encoding.pages[i].residual.take(encoding.stream), given[i].residual, "residual");
  }
}

TEST(CudaEarly, ResidualsAreMovedAndReadAsOnTheCpu) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(100);
  rig::under_every_setup([&] {
    for (const int channels : {2, 10, 66})
      for (const EarlyPlan& plan : {EarlyPlan{0, 3}, {1, 0}, {8, 24}, {40, 1}, {1 << 20, 1 << 20}}) {
        std::vector<EarlyOnCpu> pages;
        for (const LynxLayout& layout : {LynxLayout{1, channels, 0, 32},
                                         {31, channels, 4, 32},
                                         {33, channels, 0, 32},
                                         {70, channels, 4, 32}}) {
          const EarlyPlan held{std::min(plan.pairs, channels / 2),
                               std::min(plan.rows, layout.tokens - layout.sinks)};
          SCOPED_TRACE(std::to_string(layout.tokens) + " tokens, " + std::to_string(channels) +
                       " channels, " + std::to_string(held.pairs) + " pairs, " + std::to_string(held.rows) +
                       " rows");
          pages.emplace_back(layout, held, Kind::bell, draw);
        }
        compare(pages);
      }
  });
}

TEST(CudaEarly, PagesWithAndWithoutThemGoIntoOneCall) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(101);
  std::vector<EarlyOnCpu> pages;
  for (int i = 0; i < 60; ++i)
    pages.emplace_back(LynxLayout{1 + i, 24, 0, 32}, i % 2 == 0 ? EarlyPlan{} : EarlyPlan{i % 12, 1},
                       Kind::outliers, draw);
  compare(pages);
}

TEST(CudaEarly, PairsOfEqualWidthAreChosenInOrder) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(102);
  std::vector<EarlyOnCpu> pages;
  for (const Kind kind : {Kind::few_values, Kind::constant_channels, Kind::denormal, Kind::large})
    pages.emplace_back(LynxLayout{64, 150, 0, 32}, EarlyPlan{9, 5}, kind, draw);
  compare(pages);
}

TEST(CudaEarly, ALongListAndASecondSegmentAreTaken) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(103);
  compare({EarlyOnCpu({90, 400, 4, 64}, {77, 24}, Kind::bell, draw)});
}

TEST(CudaEarly, AListThatNoEncoderWritesIsTold) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(104);
  const std::vector<EarlyOnCpu> given{EarlyOnCpu({40, 90, 4, 32}, {40, 3}, Kind::bell, draw)};
  const std::size_t list = given[0].layout.anchor_bytes();
  std::vector<std::vector<std::byte>> anchors;
  const auto with = [&](std::size_t at, int value) {
    anchors.push_back(given[0].anchor);
    anchors.back()[list + at] = static_cast<std::byte>(value);
    anchors.back()[list + at + 1] = static_cast<std::byte>(value >> 8);
  };
  with(0, 39);  // pairs
  with(0, 0xffff);
  with(2, 4);            // rows
  with(4, 44);           // not ascending
  with(4 + 2 * 39, 45);  // past the channels
  with(4 + 2 * 39, 0xffff);
  with(4 + 2 * 33, 0);                                                   // in the second stretch of 32
  with(4 + 2 * 7, static_cast<int>(given[0].anchor[list + 4 + 2 * 6]));  // twice
  for (const auto& anchor : anchors) {
    std::vector<std::byte> whole;
    EXPECT_FALSE(codec::join_early(given[0].plan, given[0].layout, anchor, given[0].residual, whole).ok());
  }
  rig::under_every_setup([&] {
    const EarlyCall call(given, anchors);
    const std::vector<std::uint32_t> all_damaged(anchors.size(), payload_damaged);
    EXPECT_EQ(call.draft(), all_damaged);
    EXPECT_EQ(call.full(), all_damaged);
    EXPECT_EQ(call.exact(), all_damaged);
    for (const EarlyOnDevice& page : call.pages) page.rows.take(call.stream);
  });
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
