// The plain integers: the device's bytes against the CPU's.
#include "base/error.hpp"
#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;
using rig::Kind;

struct IntegerPage {
  UniformLayout layout;
  std::vector<Bf16> rows, values;
  Bytes expected;
  rig::Guarded device_rows, payload;

  IntegerPage(const UniformLayout& placed, Kind kind, std::mt19937& draw, std::size_t rows_offset)
      : layout(placed),
        rows(rig::drawn_page(kind, placed.tokens, placed.channels, draw)),
        values(rows.size()),
        expected(placed.payload_bytes()),
        device_rows(rows.size() * 2, rows_offset),
        payload(placed.payload_bytes()) {
    EXPECT_EQ(kernels::uniform_encode(rows.data(), layout, expected.data()), PageOutcome::coded);
    kernels::uniform_decode(expected.data(), layout, values.data());
  }
};

void compare(const std::vector<int>& lengths, const UniformShape& shape, Kind kind, std::mt19937& draw, std::size_t rows_offset = 0) {
  SCOPED_TRACE(std::to_string(shape.bits) + " bits, " + std::to_string(shape.channels) + " channels, heads of " + std::to_string(shape.head_dim));
  const Stream stream;
  std::vector<IntegerPage> pages;
  std::vector<UniformEncodePage> encoding;
  std::vector<UniformDecodePage> decoding;
  for (const int tokens : lengths) {
    const UniformLayout layout{tokens, shape.channels, shape.head_dim, shape.bits, shape.per_channel};
    const IntegerPage& page = pages.emplace_back(layout, kind, draw, rows_offset);
    page.device_rows.put(page.rows.data(), stream);
    auto* const rows = reinterpret_cast<Bf16*>(page.device_rows.data());
    encoding.push_back({rows, page.payload.data(), tokens});
    decoding.push_back({page.payload.data(), rows, tokens});
  }
  const rig::Guarded outcomes(4 * pages.size());
  auto* const words = reinterpret_cast<std::uint32_t*>(outcomes.data());
  uniform_encode(encoding, shape, words, stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), std::vector<std::uint32_t>(pages.size(), 0));
  for (const IntegerPage& page : pages) rig::expect_equal(page.payload.take(stream), page.expected, "payload");
  uniform_decode(decoding, shape, words, stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), std::vector<std::uint32_t>(pages.size(), 0));
  for (const IntegerPage& page : pages) rig::expect_equal(page.device_rows.take(stream), rig::bytes_of(page.values), "values");
}

TEST(CudaIntegers, GiveTheSameBytesForEveryShape) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(40);
  rig::under_every_setup([&] {
    for (const int bits : {4, 8})
      for (const bool per_channel : {false, true}) {
        compare({1, 31, 32, 33, 255, 256}, {16, 8, bits, per_channel}, Kind::bell, draw);
        compare({33}, {192, 64, bits, per_channel}, Kind::bell, draw);
        compare({5, 40}, {10, 2, bits, per_channel}, Kind::bell, draw);
        compare({3}, {1024, 512, bits, per_channel}, Kind::bell, draw);
        compare({9}, {72, 36, bits, per_channel}, Kind::bell, draw, 4);
      }
  });
}

TEST(CudaIntegers, GiveTheSameBytesForEveryKindOfNumber) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(41);
  for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind)
    for (const int bits : {4, 8})
      for (const bool per_channel : {false, true}) compare({70, 64}, {24, 8, bits, per_channel}, static_cast<Kind>(kind), draw);
}

TEST(CudaIntegers, SayOfEachPageWhatBecameOfIt) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(42);
  for (const bool per_channel : {false, true}) {
    const UniformShape shape{24, 8, 4, per_channel};
    const Stream stream;
    std::vector<IntegerPage> pages;
    std::vector<UniformEncodePage> encoding;
    for (const std::uint16_t bits : {std::uint16_t{0x7fc0}, std::uint16_t{0xff80}, std::uint16_t{0x7e80}, std::uint16_t{0x3f80}}) {
      IntegerPage& page = pages.emplace_back(UniformLayout{40, 24, 8, 4, per_channel}, Kind::bell, draw, 0);
      page.rows[500].bits = bits;
      page.device_rows.put(page.rows.data(), stream);
      encoding.push_back({reinterpret_cast<const Bf16*>(page.device_rows.data()), page.payload.data(), 40});
    }
    const rig::Guarded outcomes(16);
    auto* const words = reinterpret_cast<std::uint32_t*>(outcomes.data());
    uniform_encode(encoding, shape, words, stream.get());
    EXPECT_EQ(rig::take_outcomes(outcomes, stream), (std::vector<std::uint32_t>{2, 2, 1, 0}));

    Bytes damaged = pages[3].payload.take(stream);
    damaged[3] = std::byte{0x7f}, damaged[2] = std::byte{0x80};  // lo of the second group is infinite
    pages[2].payload.put(damaged.data(), stream);
    const UniformDecodePage decoding[] = {{pages[2].payload.data(), reinterpret_cast<Bf16*>(pages[2].device_rows.data()), 40},
                                          {pages[3].payload.data(), reinterpret_cast<Bf16*>(pages[3].device_rows.data()), 40}};
    const rig::Guarded two(8);
    uniform_decode(decoding, shape, reinterpret_cast<std::uint32_t*>(two.data()), stream.get());
    EXPECT_EQ(rig::take_outcomes(two, stream), (std::vector<std::uint32_t>{2, 0}));
  }
}

TEST(CudaIntegers, RefuseHeadsThatTheKernelsDoNotTake) {
  LYNXKV_NEEDS_DEVICE();
  const Stream stream;
  const UniformEncodePage none[] = {{nullptr, nullptr, 1}};
  EXPECT_THROW(uniform_encode(none, {6, 3, 4, false}, nullptr, stream.get()), Error);
  EXPECT_THROW(uniform_encode(none, {1024, 1024, 4, false}, nullptr, stream.get()), Error);
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
