#include "codec/early.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace lynxkv::codec {
namespace {

using kernels::LynxCoding;
using kernels::LynxLayout;

std::uint16_t load16(const std::byte* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// How far a draft of each channel may be off, up to a constant: [channels].
std::vector<float> widths(const LynxLayout& layout, const LynxCoding& coding, const std::byte* anchor) {
  const auto channels = static_cast<std::size_t>(layout.channels);
  std::vector<float> sums(channels, 0.0f);
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    const int from = std::max(chunk * layout.chunk_tokens, layout.sinks);
    const int to = std::min((chunk + 1) * layout.chunk_tokens, layout.tokens);
    if (from >= to) continue;
    const std::byte* sg8 = anchor + layout.sg8_at() + static_cast<std::size_t>(chunk) * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const float gscale = to_float(Bf16{load16(anchor + layout.gscale_at() + 2 * c)});
      const float width = coding.tables.scalar[static_cast<std::size_t>(sg8[c])] * gscale;
      const float area = width * width;
      sums[c] = sums[c] + area * static_cast<float>(to - from);
    }
  }
  return sums;
}

std::vector<std::uint16_t> widest_pairs(const EarlyPlan& plan, const LynxLayout& layout, const LynxCoding& coding,
                                        const std::byte* anchor) {
  const std::vector<float> sums = widths(layout, coding, anchor);
  std::vector<std::uint16_t> order(sums.size() / 2);
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  const auto width = [&](std::uint16_t pair) { return sums[2 * std::size_t{pair}] + sums[2 * std::size_t{pair} + 1]; };
  const auto wider = [&](std::uint16_t a, std::uint16_t b) {
    const float wa = width(a), wb = width(b);
    return wa > wb || (wa == wb && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + plan.pairs, order.end(), wider);
  order.resize(static_cast<std::size_t>(plan.pairs));
  std::sort(order.begin(), order.end());
  return order;
}

// The residual codes with which full decode gives the draft's values: 0, but -4 for the lowest magnitude (codes 0 and
// 15), which drafts read as level 4. Eight bytes of nibbles at a time.
std::uint64_t draft_residuals(std::uint64_t codes) {
  constexpr std::uint64_t ones = 0x1111111111111111u;
  const std::uint64_t unlike = (codes ^ codes >> 1) & (7 * ones);  // neighbouring bits of a nibble that differ
  const std::uint64_t lowest = ~(unlike | unlike >> 1 | unlike >> 2) & ones;
  return lowest << 3 | lowest << 2;
}
void draft_row(const std::byte* codes, std::size_t bytes, std::byte* out) {
  std::uint64_t word;
  std::size_t i = 0;
  for (; i + sizeof word <= bytes; i += sizeof word) {
    std::memcpy(&word, codes + i, sizeof word);
    word = draft_residuals(word);
    std::memcpy(out + i, &word, sizeof word);
  }
  if (i == bytes) return;
  word = 0;
  std::memcpy(&word, codes + i, bytes - i);
  word = draft_residuals(word);
  std::memcpy(out + i, &word, bytes - i);
}

// Where the bytes of a residual row go that has early ones.
struct Moves {
  std::size_t kept;                           // bytes of a row in the residual payload
  std::vector<std::uint16_t> pairs;           // early, ascending
  std::vector<std::uint16_t> holes, fillers;  // early positions below `kept`, and what takes their place

  Moves(std::vector<std::uint16_t> early, std::size_t row_bytes) : kept(row_bytes - early.size()), pairs(std::move(early)) {
    auto next = pairs.begin();
    for (std::size_t position = 0; position < row_bytes; ++position) {
      const bool is_early = next != pairs.end() && *next == position;
      if (is_early) ++next;
      if (is_early && position < kept) holes.push_back(static_cast<std::uint16_t>(position));
      if (!is_early && position >= kept) fillers.push_back(static_cast<std::uint16_t>(position));
    }
  }
};

}  // namespace

std::size_t EarlyPlan::early_bytes(const LynxLayout& layout) const noexcept {
  const auto coded = static_cast<std::size_t>(layout.tokens - layout.sinks), whole = static_cast<std::size_t>(rows);
  return (coded - whole) * static_cast<std::size_t>(pairs) + whole * static_cast<std::size_t>(layout.channels / 2);
}

EarlyPlan early_plan(const CodecOptions& options, const TensorShape& shape, const LynxLayout& layout) {
  const bool key = shape.kind == page::Kind::key;
  const int coded = layout.tokens - layout.sinks;
  EarlyPlan plan;
  if (coded == 0) return plan;
  // Lists hold 16-bit numbers.
  plan.pairs = std::min({(key ? options.early_channels_k : options.early_channels_v) / 2, layout.channels / 2, 65535});
  if (layout.channels / 2 > 65536) plan.pairs = 0;
  plan.rows = std::clamp((key ? options.early_tokens_k : options.early_tokens_v) - shape.tokens_behind, 0, coded);
  return plan;
}

void move_early(const EarlyPlan& plan, const LynxLayout& layout, const LynxCoding& coding, std::vector<std::byte>& anchor,
                std::vector<std::byte>& residual) {
  if (!plan.any()) return;
  LYNXKV_CHECK(anchor.size() == plan.anchor_bytes(layout) && residual.size() == layout.nibble_bytes());
  const std::vector<std::uint16_t> pairs = widest_pairs(plan, layout, coding, anchor.data());
  std::byte* out = anchor.data() + layout.anchor_bytes();
  const auto put16 = [&](int value) {
    const auto narrow = static_cast<std::uint16_t>(value);
    std::memcpy(out, &narrow, sizeof narrow);
    out += sizeof narrow;
  };
  put16(plan.pairs);
  put16(plan.rows);
  for (const std::uint16_t pair : pairs) put16(pair);
  const auto row_bytes = static_cast<std::size_t>(layout.channels / 2);
  const int coded = layout.tokens - layout.sinks;
  const Moves moves(pairs, row_bytes);
  std::byte* left = residual.data();
  std::byte* row = residual.data();
  for (int token = 0; token < coded - plan.rows; ++token, row += row_bytes, left += moves.kept) {
    for (const std::uint16_t pair : moves.pairs) *out++ = row[pair];
    for (std::size_t i = 0; i < moves.holes.size(); ++i) row[moves.holes[i]] = row[moves.fillers[i]];
    std::memmove(left, row, moves.kept);
  }
  const std::size_t rest = static_cast<std::size_t>(plan.rows) * row_bytes;
  if (rest > 0) std::memcpy(out, row, rest);
  residual.resize(plan.residual_bytes(layout));
}

Result<void> join_early(const EarlyPlan& plan, const LynxLayout& layout, std::span<const std::byte> anchor,
                        std::span<const std::byte> residual, std::vector<std::byte>& whole) {
  LYNXKV_CHECK(plan.any() && anchor.size() == plan.anchor_bytes(layout));
  LYNXKV_CHECK(residual.empty() || residual.size() == plan.residual_bytes(layout));
  const auto row_bytes = static_cast<std::size_t>(layout.channels / 2);
  const std::byte* in = anchor.data() + layout.anchor_bytes();
  const auto refuse = [](const std::string& text) { return Error(ErrorCode::bad_data, "anchor payload", text); };
  if (load16(in) != plan.pairs || load16(in + 2) != plan.rows)
    return refuse("expected early residuals of " + std::to_string(plan.pairs) + " channel pairs and " +
                  std::to_string(plan.rows) + " tokens, found " + std::to_string(load16(in)) + " and " +
                  std::to_string(load16(in + 2)) + ": sender and receiver have different settings");
  std::vector<std::uint16_t> pairs(static_cast<std::size_t>(plan.pairs));
  if (!pairs.empty()) std::memcpy(pairs.data(), in + 4, pairs.size() * 2);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i] >= row_bytes || (i > 0 && pairs[i] <= pairs[i - 1]))
      return refuse("its list of channel pairs is not ascending or runs past the channels: the payload is damaged");
  in += plan.list_bytes();
  whole.resize(layout.nibble_bytes());
  const int coded = layout.tokens - layout.sinks;
  const std::byte* left = residual.data();
  const std::byte* codes = anchor.data() + layout.nibbles_at();
  std::byte* row = whole.data();
  const Moves moves(std::move(pairs), row_bytes);
  for (int token = 0; token < coded - plan.rows; ++token, row += row_bytes, codes += row_bytes) {
    if (residual.empty()) {
      draft_row(codes, row_bytes, row);
    } else {
      std::memcpy(row, left, moves.kept);
      for (std::size_t i = 0; i < moves.holes.size(); ++i) row[moves.fillers[i]] = row[moves.holes[i]];
      left += moves.kept;
    }
    for (const std::uint16_t pair : moves.pairs) row[pair] = *in++;
  }
  const std::size_t rest = static_cast<std::size_t>(plan.rows) * row_bytes;
  if (rest > 0) std::memcpy(row, in, rest);
  return {};
}

}  // namespace lynxkv::codec
