// `kivi4`: the grids of KIVI (ICML 2024) at four bits: K by channel in groups of 32 tokens, V by token in
// groups of 32 channels, asymmetric. One stream, no draft.
//   payload: the scales (codec/block_grid.hpp), then the codes token-major, two a byte, the even channel low
// 5 bits an element where 32 divides. KIVI's newest tokens, which it leaves unquantised, are those that the
// decode rank computes itself: they never come as a page tensor.
#include "codec/block_grid.hpp"
#include "codec/shape.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};
constexpr int group = 32;

BlockGrid grid_of(const TensorShape& shape) {
  const bool key = shape.kind == page::Kind::key;
  return {shape.tokens, shape.channels, key ? group : 1, key ? 1 : group, 15};
}

class Kivi final : public Codec {
 public:
  std::string_view name() const noexcept override { return "kivi4"; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::anchor) return 0;
    const BlockGrid grid = grid_of(shape);
    return raw ? raw_bytes(shape) : grid.scale_bytes() + grid.nibble_bytes();
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const BlockGrid grid = grid_of(shape);
    for (std::size_t i = 1; i < out.payload.size(); ++i) out.payload[i].clear();
    out.payload[0].resize(grid.scale_bytes() + grid.nibble_bytes());
    std::byte* payload = out.payload[0].data();
    const kernels::PageOutcome outcome = encode_scales(rows, grid, payload);
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows, shape, out);
      return {};
    }
    encode_nibbles(rows, grid, payload, payload + grid.scale_bytes());
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return decode_raw(in, shape, rows);
    const BlockGrid grid = grid_of(shape);
    const std::byte* payload = in.payload[0].data();
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], grid.scale_bytes() + grid.nibble_bytes());
        !sized)
      return sized;
    if (!scales_are_finite(payload, grid)) return bad_scalars();
    decode_nibbles(payload, payload + grid.scale_bytes(), grid, rows);
    return {};
  }
};

}  // namespace

std::unique_ptr<Codec> make_kivi4(const CodecOptions&) {
  return std::make_unique<Kivi>();
}

}  // namespace lynxkv::codec
