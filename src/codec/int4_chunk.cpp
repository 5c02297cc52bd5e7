// `int4-chunk`: the published way to spend five bits: asymmetric four-bit integers for each channel and 32 tokens, with
// 16-bit float lo and step, and the sequence's first tokens exact. lynx is measured against it.
//   payload: sinks bf16[sinks][channels]; the scales (codec/block_grid.hpp) of the other tokens, chunks counting from
//   the first of them; their codes token-major, two a byte, the even channel low
// 5 bits an element where 32 divides, sinks apart.
#include <algorithm>
#include <cstring>
#include <string>

#include "codec/block_grid.hpp"
#include "codec/shape.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};
constexpr int group_tokens = 32, largest_code = 15;

class Int4Chunk final : public Codec {
 public:
  explicit Int4Chunk(const CodecOptions& options) : sinks_(options.sinks) {
    if (sinks_ < 0 || sinks_ > 255)
      throw Error(ErrorCode::usage, "sinks", "expected 0 to 255, found " + std::to_string(sinks_));
  }

  std::string_view name() const noexcept override { return "int4-chunk"; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::anchor) return 0;
    if (raw) return raw_bytes(shape);
    const BlockGrid grid = grid_of(shape);
    return sink_bytes(shape) + grid.scale_bytes() + grid.nibble_bytes();
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const BlockGrid grid = grid_of(shape);
    const std::size_t values = raw_bytes(shape) / sizeof(Bf16), sinks = sink_bytes(shape);
    if (kernels::page_outcome(rows, values) == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.payload[0].resize(payload_bytes(StreamId::anchor, shape, false));
    out.payload[1].clear();
    out.payload[2].clear();
    std::byte* at = out.payload[0].data();
    std::memcpy(at, rows, sinks);
    rows += sinks / sizeof(Bf16);
    out.raw = grid.tokens > 0 && encode_scales(rows, grid, at + sinks) == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows - sinks / sizeof(Bf16), shape, out);
      return {};
    }
    encode_nibbles(rows, grid, at + sinks, at + sinks + grid.scale_bytes());
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return decode_raw(in, shape, rows);
    if (auto sized = check_payload(StreamId::anchor, in.payload[0], payload_bytes(StreamId::anchor, shape, false)); !sized)
      return sized;
    const BlockGrid grid = grid_of(shape);
    const std::size_t sinks = sink_bytes(shape);
    const std::byte* at = in.payload[0].data();
    if (kernels::page_outcome(reinterpret_cast<const Bf16*>(at), sinks / sizeof(Bf16)) == kernels::PageOutcome::not_finite ||
        !scales_are_finite(at + sinks, grid))
      return bad_scalars();
    std::memcpy(rows, at, sinks);
    decode_nibbles(at + sinks, at + sinks + grid.scale_bytes(), grid, rows + sinks / sizeof(Bf16));
    return {};
  }

 private:
  int sink_tokens(const TensorShape& shape) const noexcept {
    return shape.first_position == 0 ? std::min(sinks_, shape.tokens) : 0;
  }
  std::size_t sink_bytes(const TensorShape& shape) const noexcept {
    return static_cast<std::size_t>(sink_tokens(shape)) * static_cast<std::size_t>(shape.channels) * sizeof(Bf16);
  }
  BlockGrid grid_of(const TensorShape& shape) const noexcept {
    return {shape.tokens - sink_tokens(shape), shape.channels, group_tokens, 1, largest_code};
  }

  int sinks_;
};

}  // namespace

std::unique_ptr<Codec> make_int4_chunk(const CodecOptions& options) {
  return std::make_unique<Int4Chunk>(options);
}

}  // namespace lynxkv::codec
