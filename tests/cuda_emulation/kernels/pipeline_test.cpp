// The serializer's pattern: page i + 1 is encoded while page i's payloads travel to the host, on two streams with two
// sets of buffers. An event holds it together; the emulation shows what happens without it.
#include <array>

#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;

const LynxLayout layout{64, 16, 4, 32};
constexpr int page_count = 6;

LynxCoding coding() { return make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log); }

struct Stage {
  DeviceMemory rows{layout.raw_bytes()}, anchor{layout.anchor_bytes()}, residual{layout.nibble_bytes()}, outcome{4};
  PinnedMemory host_rows{layout.raw_bytes()}, host_anchor{layout.anchor_bytes()};
  Event encoded, arrived;
};

void take(const Stage& stage, Bytes& to) {
  stage.arrived.synchronise();
  to.assign(stage.host_anchor.data(), stage.host_anchor.data() + layout.anchor_bytes());
}

// `with_event`: the copy waits for the kernel.
std::vector<Bytes> pipelined(const std::vector<std::vector<Bf16>>& pages, bool with_event) {
  const Stream computing, copying(StreamPriority::high);
  std::array<Stage, 2> stages;
  std::vector<Bytes> anchors(pages.size());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const Stage& stage = stages[i % 2];
    if (i >= 2) take(stage, anchors[i - 2]);  // and with that the whole stage is free again
    std::memcpy(stage.host_rows.data(), pages[i].data(), layout.raw_bytes());
    copy_to_device(stage.rows.data(), stage.host_rows.data(), layout.raw_bytes(), computing.get());
    const LynxEncodePage page[] = {{reinterpret_cast<const Bf16*>(stage.rows.data()), stage.anchor.data(), stage.residual.data(), layout.tokens, layout.sinks}};
    lynx_encode(page, {layout.channels, layout.chunk_tokens}, coding(), reinterpret_cast<std::uint32_t*>(stage.outcome.data()), computing.get());
    computing.record(stage.encoded);
    if (with_event) copying.wait(stage.encoded);
    copy_to_host(stage.host_anchor.data(), stage.anchor.data(), layout.anchor_bytes(), copying.get());
    copying.record(stage.arrived);
  }
  for (std::size_t i = pages.size() - 2; i < pages.size(); ++i) take(stages[i % 2], anchors[i]);
  computing.synchronise();
  return anchors;
}

struct Pages {
  std::vector<std::vector<Bf16>> rows;
  std::vector<Bytes> anchors;

  Pages() {
    std::mt19937 draw(50);
    for (int i = 0; i < page_count; ++i) {
      rows.push_back(rig::drawn_page(rig::Kind::bell, layout.tokens, layout.channels, draw));
      Bytes anchor(layout.anchor_bytes()), residual(layout.nibble_bytes());
      EXPECT_EQ(reference::lynx_encode(rows.back().data(), layout, coding(), anchor.data(), residual.data()), PageOutcome::coded);
      anchors.push_back(anchor);
    }
  }
};

TEST(CudaPipeline, EncodesOnePageWhileTheLastOneTravels) {
  LYNXKV_NEEDS_DEVICE();
  const Pages pages;
  rig::under_every_setup([&] { EXPECT_EQ(pipelined(pages.rows, true), pages.anchors); });
}

TEST(CudaPipeline, IsWrongWithoutItsEventAndTheEmulationSeesIt) {
  if (!rig::is_emulation()) GTEST_SKIP() << "a GPU may be lucky";
  const Pages pages;
  int wrong = 0;
  rig::under_every_setup([&] { wrong += pipelined(pages.rows, false) != pages.anchors; });
  EXPECT_GE(wrong, 2);
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
