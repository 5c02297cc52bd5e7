// The exact stream on the device: the bits of the input come back, payloads that no encoder writes are told.
#include "kernels/cuda/exact.hpp"

#include <cmath>

#include "tests/codec/golden.hpp"
#include "tests/cuda_emulation/kernels/random_pages.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda {
namespace {

using rig::Bytes;
using rig::Kind;

const LynxCoding& default_coding() {
  static const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  return coding;
}

// A page and its three payloads as the CPU makes them.
struct OnCpu {
  LynxLayout layout;
  std::vector<Bf16> rows;
  Bytes anchor, residual;
  std::vector<std::byte> exact;

  OnCpu(const std::vector<Bf16>& values, const LynxLayout& placed, const LynxCoding& coding)
      : layout(placed), rows(values), anchor(placed.anchor_bytes()), residual(placed.nibble_bytes()) {
    std::vector<std::int16_t> workspace(layout.workspace());
    EXPECT_EQ(
        kernels::lynx_encode(rows.data(), layout, coding, anchor.data(), residual.data(), workspace.data()),
        PageOutcome::coded);
    ExactWorkspace memory;
    kernels::exact_encode(rows.data(), anchor.data(), residual.data(), layout, coding,
                          make_exact_tables(coding.tables), memory, exact);
  }
  bool is_damaged(const LynxCoding& coding, std::span<const std::byte> payload) const {
    ExactWorkspace memory;
    std::vector<Bf16> values(rows.size());
    return !kernels::exact_decode(anchor.data(), residual.data(), payload, layout, coding,
                                  make_exact_tables(coding.tables), memory, values.data())
                .ok();
  }
};

struct OnDevice {
  rig::Page page;
  rig::Guarded payload;

  // Where the device is to write a payload.
  OnDevice(const OnCpu& given, const Stream& stream, const rig::Offsets& at)
      : page(given.layout, at), payload(exact_bound_bytes(given.layout)) {
    page.rows.put(given.rows.data(), stream);
    page.anchor.put(given.anchor.data(), stream);
    page.residual.put(given.residual.data(), stream);
  }
  ExactEncodePage to_encode() const {
    return {reinterpret_cast<const Bf16*>(page.rows.data()),
            page.anchor.data(),
            page.residual.data(),
            payload.data(),
            page.layout.tokens,
            page.layout.sinks};
  }

  OnDevice(const OnCpu& given, std::span<const std::byte> exact, const Stream& stream,
           const rig::Offsets& at = {})
      : page(given.layout, at), payload(exact.size()) {
    page.anchor.put(given.anchor.data(), stream);
    page.residual.put(given.residual.data(), stream);
    payload.put(exact.data(), stream);
  }
  ExactDecodePage to_decode() const {
    return {page.anchor.data(),
            page.residual.data(),
            payload.data(),
            reinterpret_cast<Bf16*>(page.rows.data()),
            static_cast<std::uint32_t>(payload.bytes()),
            page.layout.tokens,
            page.layout.sinks};
  }
};

void expect_the_cpus_payloads(const std::vector<OnCpu>& given, const LynxCoding& coding,
                              const rig::Offsets& at) {
  const Stream stream;
  std::vector<OnDevice> pages;
  std::vector<ExactEncodePage> encoding;
  for (const OnCpu& one : given) {
    pages.emplace_back(one, stream, at);
    encoding.push_back(pages.back().to_encode());
  }
  const rig::Guarded outcomes(4 * pages.size()), sizes(4 * pages.size());
  exact_encode(encoding, pages[0].page.shape(), coding, reinterpret_cast<std::uint32_t*>(sizes.data()),
               reinterpret_cast<std::uint32_t*>(outcomes.data()), stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), std::vector<std::uint32_t>(pages.size(), 0));
  const std::vector<std::uint32_t> bytes = rig::take_outcomes(sizes, stream);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(bytes[i], given[i].exact.size());
    Bytes found = pages[i].payload.take(stream);
    found.resize(std::min<std::size_t>(bytes[i], found.size()));
    rig::expect_equal(found, given[i].exact, "exact payload");
  }
}

// Encodes all pages in one call, and decodes them in one.
void expect_bits_back(const std::vector<OnCpu>& given, const LynxCoding& coding,
                      const rig::Offsets& at = {}) {
  expect_the_cpus_payloads(given, coding, at);
  const Stream stream;
  std::vector<OnDevice> pages;
  std::vector<ExactDecodePage> decoding;
  for (const OnCpu& one : given) {
    pages.emplace_back(one, one.exact, stream, at);
    decoding.push_back(pages.back().to_decode());
  }
  const rig::Guarded outcomes(4 * pages.size());
  exact_decode(decoding, pages[0].page.shape(), coding, reinterpret_cast<std::uint32_t*>(outcomes.data()),
               stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), std::vector<std::uint32_t>(pages.size(), 0));
  for (std::size_t i = 0; i < pages.size(); ++i)
    rig::expect_equal(pages[i].page.rows.take(stream), rig::bytes_of(given[i].rows), "rows");
}

TEST(CudaExact, RestoresTheBitsOfEveryGoldenPage) {
  LYNXKV_NEEDS_DEVICE();
  rig::under_every_setup([] {
    for (const codec::golden::Case& one : codec::golden::cases()) {
      if (one.name == "edge_range_overflow_raw") continue;
      SCOPED_TRACE(one.name);
      const LynxLayout layout{one.shape.tokens, one.shape.channels,
                              std::min(one.options.sinks, one.shape.tokens), one.shape.chunk_tokens};
      const LynxCoding coding =
          make_lynx_coding(one.options.alpha, one.options.levels,
                           one.options.centre == codec::Centre::mid ? LynxCentre::mid : LynxCentre::mean,
                           one.options.sigma == codec::Sigma::log ? LynxSigma::log : LynxSigma::linear);
      expect_bits_back({OnCpu(codec::golden::read_bf16(one.name + ".kv.bin"), layout, coding)}, coding);
    }
  });
}

TEST(CudaExact, RestoresTheBitsForEveryLengthOfAPage) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(80);
  for (const int channels : {2, 10, 64, 192})
    rig::under_every_setup([&] {
      std::vector<OnCpu> pages;
      for (const int tokens : {1, 31, 32, 33, 255, 256})
        for (const int sinks : {0, 4}) {
          const LynxLayout layout{tokens, channels, std::min(sinks, tokens), 32};
          pages.emplace_back(rig::drawn_page(Kind::bell, tokens, channels, draw), layout, default_coding());
        }
      expect_bits_back(pages, default_coding());
    });
}

TEST(CudaExact, RestoresTheBitsForEveryKindOfNumber) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(81);
  for (const bool paper : {false, true}) {
    const LynxCoding coding =
        paper ? make_lynx_coding(2.0f, 120, LynxCentre::mean, LynxSigma::linear) : default_coding();
    std::vector<OnCpu> pages;
    for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind) {
      pages.emplace_back(rig::drawn_page(static_cast<Kind>(kind), 70, 24, draw), LynxLayout{70, 24, 4, 32},
                         coding);
      pages.emplace_back(rig::drawn_page(static_cast<Kind>(kind), 256, 24, draw), LynxLayout{256, 24, 0, 32},
                         coding);
      pages.emplace_back(rig::drawn_page(static_cast<Kind>(kind), 5, 24, draw), LynxLayout{5, 24, 5, 32},
                         coding);
    }
    rig::under_every_setup([&] { expect_bits_back(pages, coding); });
  }
}

TEST(CudaExact, TakesSegmentsThatAreShortAndRowsThatAreWide) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(82);
  for (const LynxLayout& layout : {LynxLayout{256, 128, 4, 32},
                                   {200, 1024, 3, 32},
                                   {17, 8192, 1, 16},
                                   {3, 40000, 0, 1},
                                   {2, 131072, 1, 32}}) {
    SCOPED_TRACE(std::to_string(layout.tokens) + " tokens by " + std::to_string(layout.channels) +
                 " channels");
    expect_bits_back(
        {OnCpu(rig::drawn_page(Kind::bell, layout.tokens, layout.channels, draw), layout, default_coding())},
        default_coding());
  }
}

TEST(CudaExact, NeedsNoMoreThanFourByteAlignment) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(83);
  for (const int channels : {16, 10})
    for (const rig::Offsets& at : {rig::Offsets{4, 0, 0}, {0, 4, 0}, {0, 0, 1}, {8, 12, 2}})
      expect_bits_back({OnCpu(rig::drawn_page(Kind::outliers, 70, channels, draw), {70, channels, 3, 32},
                              default_coding())},
                       default_coding(), at);
}

TEST(CudaExact, TakesMorePagesThanOneLaunchHolds) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(84);
  std::vector<OnCpu> pages;
  for (int i = 0; i < 101; ++i)
    pages.emplace_back(rig::drawn_page(Kind::bell, 1 + i % 70, 8, draw),
                       LynxLayout{1 + i % 70, 8, i % 7 == 0 ? 1 : 0, 32}, default_coding());
  expect_bits_back(pages, default_coding());
}

// Segments whose words or extras outgrow the memory in which they wait for their place.
TEST(CudaExact, CodesSegmentsAgainThatTakeManyBits) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(91);
  const LynxCoding even = make_lynx_coding(0.001f, 112, LynxCentre::mid, LynxSigma::log);
  bool many_words = false, many_extras = false;
  for (const int octaves : {7, 10}) {  // magnitudes below the largest of each chunk
    std::vector<Bf16> rows(130 * 190);
    std::uniform_real_distribution<float> exponent(static_cast<float>(-octaves), 0.0f);
    for (Bf16& x : rows) x = to_bf16(std::exp2(exponent(draw)) * (draw() % 2 == 0 ? 1.0f : -1.0f));
    const OnCpu given(rows, {130, 190, 0, 32}, even);
    std::uint32_t counts[3] = {};
    std::memcpy(counts, given.exact.data(), sizeof counts);
    many_words = many_words || (counts[0] == 1 && counts[1] > 3584);
    many_extras = many_extras || (counts[0] == 1 && counts[2] > 1024);
    rig::under_every_setup([&] { expect_bits_back({given}, even); });
  }
  EXPECT_TRUE(many_words && many_extras);
}

// The device's verdicts on all these payloads for one page, against the CPU's. Guards around the rows are
// checked.
void expect_verdicts(const OnCpu& given, const LynxCoding& coding,
                     const std::vector<std::vector<std::byte>>& payloads) {
  const Stream stream;
  std::vector<OnDevice> pages;
  std::vector<ExactDecodePage> decoding;
  std::vector<std::uint32_t> expected;
  for (const std::vector<std::byte>& payload : payloads) {
    pages.emplace_back(given, payload, stream);
    decoding.push_back(pages.back().to_decode());
    expected.push_back(given.is_damaged(coding, payload) ? payload_damaged : 0);
  }
  const rig::Guarded outcomes(4 * pages.size());
  exact_decode(decoding, pages[0].page.shape(), coding, reinterpret_cast<std::uint32_t*>(outcomes.data()),
               stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), expected);
  for (const OnDevice& one : pages) {
    const Bytes found = one.page.rows.take(stream);
    const auto i = static_cast<std::size_t>(&one - pages.data());
    if (expected[i] == 0 && payloads[i] == given.exact)
      rig::expect_equal(found, rig::bytes_of(given.rows), "rows");
  }
}

TEST(CudaExact, TellsAPayloadThatIsCutOrTooLong) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(85);
  const OnCpu given(rig::drawn_page(Kind::bell, 40, 24, draw), {40, 24, 4, 32}, default_coding());
  std::vector<std::vector<std::byte>> payloads = {given.exact, {}};
  for (const std::size_t bytes : {std::size_t{2}, std::size_t{3}, std::size_t{4}, std::size_t{8},
                                  std::size_t{11}, std::size_t{12}, std::size_t{140}, given.exact.size() - 2,
                                  given.exact.size() - 1, given.exact.size() + 1, given.exact.size() + 4}) {
    payloads.push_back(given.exact);
    payloads.back().resize(bytes);
  }
  rig::under_every_setup([&] { expect_verdicts(given, default_coding(), payloads); });
}

void flip_bits(Kind kind, const LynxLayout& layout, std::size_t flips, std::mt19937& draw) {
  const OnCpu given(rig::drawn_page(kind, layout.tokens, layout.channels, draw), layout, default_coding());
  std::vector<std::vector<std::byte>> payloads = {given.exact};
  for (std::size_t i = 0; i < flips; ++i) {  // half of them in the form and the counts
    payloads.push_back(given.exact);
    payloads.back()[draw() % (i % 2 == 0 ? 20 : given.exact.size())] ^=
        static_cast<std::byte>(1u << draw() % 8);
  }
  expect_verdicts(given, default_coding(), payloads);
}

TEST(CudaExact, TellsFlippedBitsWhereTheCpuDoes) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(86);
  for (const Kind kind : {Kind::bell, Kind::outliers, Kind::bits, Kind::denormal})
    flip_bits(kind, {20, 26, 4, 32}, 100, draw);
  flip_bits(Kind::outliers, {100, 190, 4, 32}, 10, draw);  // two segments
}

TEST(CudaExact, TellsCountsThatAddUpToThePayloadAndAreStillWrong) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(87);
  const OnCpu given(rig::drawn_page(Kind::outliers, 100, 190, draw), {100, 190, 4, 32}, default_coding());
  ASSERT_EQ(given.exact[0], std::byte{1});
  std::vector<std::vector<std::byte>> payloads;
  const auto with_counts = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    std::uint32_t counts[4];
    std::memcpy(counts, given.exact.data() + 4, sizeof counts);
    counts[0] += a, counts[1] += b, counts[2] += c, counts[3] += d;
    payloads.push_back(given.exact);
    std::memcpy(payloads.back().data() + 4, counts, sizeof counts);
  };
  with_counts(1, ~0u, 0, 0);  // a word more, an extra less
  with_counts(~0u, 1, 0, 0);
  with_counts(~0u, 0, 1, 0);                    // from one segment to the next
  with_counts(0x80000000u, 0, 0x80000000u, 0);  // which 32 bits would not see
  with_counts(0, 0, 0x40000000u, 0xc0000000u);
  ASSERT_GE(given.layout.nibble_bytes() * 2, exact_segment_values);
  for (int i = 0; i < 20; ++i) {  // any payload of the right size, with counts that fit it
    std::vector<std::byte> forged(400);
    for (std::byte& byte : forged) byte = static_cast<std::byte>(draw());
    const std::uint32_t words = static_cast<std::uint32_t>(draw() % 12),
                        head[5] = {1, words, 8 - words % 9, 0, 6};
    std::memcpy(forged.data(), head, sizeof head);
    forged.resize(20 + 256 + 2 * (head[1] + head[2] + head[3] + head[4]));
    payloads.push_back(forged);
  }
  expect_verdicts(given, default_coding(), payloads);
}

TEST(CudaExact, TellsStoredValuesThatAreNotFiniteAndAnyPayloadOfAPageOfSinks) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(88);
  const OnCpu noise(rig::drawn_page(Kind::bits, 40, 24, draw), {40, 24, 0, 32}, default_coding());
  std::vector<std::byte> stored(4 + noise.rows.size() * 2);
  std::memcpy(stored.data() + 4, noise.rows.data(), noise.rows.size() * 2);
  std::vector<std::vector<std::byte>> payloads = {stored};
  for (const std::size_t at : {std::size_t{0}, std::size_t{959}}) {
    payloads.push_back(stored);
    payloads.back()[4 + 2 * at + 1] = std::byte{0x7f}, payloads.back()[4 + 2 * at] = std::byte{0x81};
  }
  payloads.push_back(stored);
  payloads.back().push_back(std::byte{0});
  payloads.push_back({stored.begin(), stored.end() - 2});
  expect_verdicts(noise, default_coding(), payloads);

  const OnCpu sinks(rig::drawn_page(Kind::bell, 3, 8, draw), {3, 8, 3, 32}, default_coding());
  expect_verdicts(sinks, default_coding(), {{}, {std::byte{0}}, {4, std::byte{0}}});
}

TEST(CudaExact, ReportsAnAnchorWhosePageScalarsOrSinksAreNotFinite) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(89);
  const OnCpu good(rig::drawn_page(Kind::bell, 70, 72, draw), {70, 72, 4, 32}, default_coding());
  const LynxLayout& layout = good.layout;
  const Stream stream;
  std::vector<OnDevice> pages;
  std::vector<ExactDecodePage> decoding;
  for (const std::size_t at : {std::size_t{0}, layout.gmin_at() - 2, layout.gmin_at(), layout.gscale_at() - 2,
                               layout.gscale_at(), layout.mu8_at() - 2}) {
    OnCpu bad = good;
    bad.anchor[at] = std::byte{0x80}, bad.anchor[at + 1] = std::byte{0x7f};
    pages.emplace_back(bad, bad.exact, stream);
    decoding.push_back(pages.back().to_decode());
  }
  const rig::Guarded outcomes(4 * pages.size()), sizes(4);
  auto* const words = reinterpret_cast<std::uint32_t*>(outcomes.data());
  exact_decode(decoding, pages[0].page.shape(), default_coding(), words, stream.get());
  const auto not_finite = static_cast<std::uint32_t>(PageOutcome::not_finite);
  EXPECT_EQ(rig::take_outcomes(outcomes, stream), std::vector<std::uint32_t>(pages.size(), not_finite));

  const OnDevice from(good, stream, {});
  from.page.anchor.put(pages[3].page.anchor.take(stream).data(), stream);
  const ExactEncodePage encoding[] = {from.to_encode()};
  exact_encode(encoding, pages[0].page.shape(), default_coding(),
               reinterpret_cast<std::uint32_t*>(sizes.data()), words, stream.get());
  EXPECT_EQ(rig::take_outcomes(outcomes, stream)[0], not_finite);
  from.payload.take(stream);
}

// Codes that have nothing to do with the payload: cells as no encoder makes them.
TEST(CudaExact, SeesTheCpusCellsForAnyNibblesAndChunkScalars) {
  LYNXKV_NEEDS_DEVICE();
  std::mt19937 draw(90);
  for (const LynxSigma sigma : {LynxSigma::log, LynxSigma::linear}) {
    const LynxCoding coding = make_lynx_coding(1.0f, 120, LynxCentre::mid, sigma);
    OnCpu given(rig::drawn_page(Kind::bits, 100, 24, draw), {100, 24, 4, 32}, coding);
    for (std::size_t i = given.layout.mu8_at(); i < given.anchor.size(); ++i)
      given.anchor[i] = static_cast<std::byte>(draw());
    for (std::byte& byte : given.residual) byte = static_cast<std::byte>(draw());
    const std::size_t values = exact_value_count(given.layout), sinks = given.rows.size() - values;
    std::vector<std::int16_t> first(values);
    std::vector<std::uint16_t> count(values);
    const ExactTables tables = make_exact_tables(coding.tables);
    reference::exact_cells(given.anchor.data(), given.residual.data(), given.layout, coding, tables,
                           first.data(), count.data());
    for (std::size_t i = 0; i < values; ++i)
      given.rows[sinks + i] = exact_value(first[i] + static_cast<int>(draw() % count[i]));
    ExactWorkspace memory;
    kernels::exact_encode(given.rows.data(), given.anchor.data(), given.residual.data(), given.layout, coding,
                          tables, memory, given.exact);
    ASSERT_EQ(given.exact[0], std::byte{1}) << "coded";
    expect_bits_back({given}, coding);
  }
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
