// `quantspec`: the two planes of QuantSpec (ICML 2025): K by channel in groups of 128 tokens, V by token in
// groups of 128 channels; an upper plane of four bits, asymmetric, and a lower one of four signed bits that
// codes the upper one's error with a sixteenth of its step. One scale serves both: step is the lower plane's.
//   q = round((x - lo) / step), 0 .. 240; upper = (q + 8) >> 4, 0 .. 15; lower = q - 16 upper, -8 .. 7
//   draft = lo + 16 upper * step; full = lo + q * step
//   anchor: the scales (codec/block_grid.hpp), then the upper codes token-major, two a byte, the even channel
//           low
//   residual: the lower codes in the same order, two's complement
// 4.25 + 4 bits an element where 128 divides. QuantSpec keeps its newest tokens unquantised: those are the
// ones that the decode rank computes itself, and they never come as a page tensor.
#include "codec/block_grid.hpp"
#include "codec/shape.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec two_planes[] = {{StreamId::anchor, Level::draft}, {StreamId::residual, Level::target}};
constexpr int group = 128;

BlockGrid grid_of(const TensorShape& shape) {
  const bool key = shape.kind == page::Kind::key;
  return {shape.tokens, shape.channels, key ? group : 1, key ? 1 : group, 240};
}

// Channels 2j and 2j + 1 of q.
void join_planes(std::byte upper, const std::byte* lower, std::int16_t* q) {
  const int low = static_cast<int>(upper) & 15, high = static_cast<int>(upper) >> 4;
  q[0] = static_cast<std::int16_t>(low * 16);
  q[1] = static_cast<std::int16_t>(high * 16);
  if (lower == nullptr) return;
  const int rest = static_cast<int>(*lower);
  q[0] = static_cast<std::int16_t>(q[0] + ((rest & 15) ^ 8) - 8);
  q[1] = static_cast<std::int16_t>(q[1] + ((rest >> 4) ^ 8) - 8);
}

class QuantSpec final : public Codec {
 public:
  std::string_view name() const noexcept override { return "quantspec"; }
  std::span<const StreamSpec> streams() const noexcept override { return two_planes; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (raw) return stream == StreamId::anchor ? raw_bytes(shape) : 0;
    const BlockGrid grid = grid_of(shape);
    if (stream == StreamId::anchor) return grid.scale_bytes() + grid.nibble_bytes();
    return stream == StreamId::residual ? grid.nibble_bytes() : 0;
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const BlockGrid grid = grid_of(shape);
    out.payload[0].resize(grid.scale_bytes() + grid.nibble_bytes());
    out.payload[1].resize(grid.nibble_bytes());
    out.payload[2].clear();
    const kernels::PageOutcome outcome = encode_scales(rows, grid, out.payload[0].data());
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows, shape, out);
      return {};
    }
    GridRow row(grid, out.payload[0].data());
    std::vector<std::uint8_t> q(static_cast<std::size_t>(shape.channels)), upper(q.size());
    std::byte* high = out.payload[0].data() + grid.scale_bytes();
    std::byte* low = out.payload[1].data();
    const int row_bytes = shape.channels / 2;
    for (int token = 0; token < shape.tokens;
         ++token, rows += shape.channels, high += row_bytes, low += row_bytes) {
      row.next();
      row.encode(rows, q.data());
      for (std::size_t channel = 0; channel < q.size(); ++channel)
        upper[channel] = static_cast<std::uint8_t>((q[channel] + 8) >> 4);
      pack_nibbles(upper.data(), shape.channels, high);
      pack_nibbles(q.data(), shape.channels, low);  // q - 16 upper, modulo 16
    }
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::draft && level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    const bool full = level == Level::target;
    const BlockGrid grid = grid_of(shape);
    if (full)
      if (auto sized = check_payload(StreamId::residual, in.payload[1], in.raw ? 0 : grid.nibble_bytes());
          !sized)
        return sized;
    if (in.raw) return decode_raw(in, shape, rows);
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], grid.scale_bytes() + grid.nibble_bytes());
        !sized)
      return sized;
    if (!scales_are_finite(in.payload[0].data(), grid)) return bad_scalars();
    GridRow row(grid, in.payload[0].data());
    std::vector<std::int16_t> q(static_cast<std::size_t>(shape.channels));
    const std::byte* high = in.payload[0].data() + grid.scale_bytes();
    const std::byte* low = full ? in.payload[1].data() : nullptr;
    for (int token = 0; token < shape.tokens; ++token, rows += shape.channels) {
      row.next();
      for (std::size_t channel = 0; channel < q.size(); channel += 2) {
        join_planes(*high++, low, q.data() + channel);
        if (low != nullptr) ++low;
      }
      row.decode(q.data(), rows);
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Codec> make_quantspec(const CodecOptions&) {
  return std::make_unique<QuantSpec>();
}

}  // namespace lynxkv::codec
