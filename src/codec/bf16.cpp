// `bf16`: the values themselves, one stream.
#include "codec/shape.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};

class PlainBf16 final : public Codec {
 public:
  std::string_view name() const noexcept override { return "bf16"; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool) const noexcept override {
    return stream == StreamId::anchor ? raw_bytes(shape) : 0;
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const std::size_t values = raw_bytes(shape) / sizeof(Bf16);
    if (kernels::page_outcome(rows, values) == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = false;
    encode_raw(rows, shape, out);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    return decode_raw(in, shape, rows);
  }
};

}  // namespace

std::unique_ptr<Codec> make_bf16(const CodecOptions&) { return std::make_unique<PlainBf16>(); }

}  // namespace lynxkv::codec
