// `cachegen-code`: CacheGen (SIGCOMM 2024) as its public code does it: no differences between tokens. Each
// token is scaled by its largest size over all channels, and coded in 31 steps (K of layers 0-9, V of layers
// 0-1) or 15.
//   code q = round_half_even(x / max * C), C = 15 or 7; x' = bf16(q / C * max)
//   payload: max bf16[tokens], then each channel's table u16[2C], then u16 bytes[channels], then the
//            channels' strings
// The public code keeps its tables and strings by layer and channel for 256 tokens at a time, as pages do
// here.
#include <cmath>
#include <cstring>

#include "codec/cachegen_column.hpp"
#include "codec/shape.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};

int largest_code(const TensorShape& shape) {
  return shape.layer < (shape.kind == page::Kind::key ? 10 : 2) ? 15 : 7;
}

// Everything before the strings.
std::size_t fixed_bytes(const TensorShape& shape) noexcept {
  const auto tokens = static_cast<std::size_t>(shape.tokens),
             channels = static_cast<std::size_t>(shape.channels);
  return tokens * 2 + channels * (table_bytes(2 * largest_code(shape) + 1) + 2);
}

void quantise(const Bf16* rows, const TensorShape& shape, ByteWriter& out, std::int8_t* codes) {
  const auto top = static_cast<float>(largest_code(shape));
  for (int token = 0; token < shape.tokens; ++token, rows += shape.channels, codes += shape.channels) {
    float max = 0;
    for (int channel = 0; channel < shape.channels; ++channel)
      max = std::fmax(max, std::fabs(to_float(rows[channel])));
    out.write(to_bf16(max).bits);
    for (int channel = 0; channel < shape.channels; ++channel)
      codes[channel] = max > 0 ? static_cast<std::int8_t>(std::nearbyint(to_float(rows[channel]) / max * top))
                               : std::int8_t{0};
  }
}

class CacheGenCode final : public Codec {
 public:
  std::string_view name() const noexcept override { return "cachegen-code"; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::anchor) return 0;
    if (raw) return raw_bytes(shape);
    return fixed_bytes(shape) + static_cast<std::size_t>(shape.channels) * column_bound(shape.tokens);
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const std::size_t values = raw_bytes(shape) / sizeof(Bf16);
    const kernels::PageOutcome outcome = kernels::page_outcome(rows, values);
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows, shape, out);
      return {};
    }
    for (auto& payload : out.payload) payload.clear();
    std::vector<std::byte>& payload = out.payload[0];
    ByteWriter writer(payload);
    std::vector<std::int8_t> codes(values);
    quantise(rows, shape, writer, codes.data());
    const int top = largest_code(shape);
    std::vector<std::byte> strings;
    std::vector<std::uint16_t> sizes;
    for (int channel = 0; channel < shape.channels; ++channel) {
      const Column column{codes.data() + channel, static_cast<std::size_t>(shape.channels), shape.tokens};
      const ColumnModel model = model_of(column, -top, 2 * top + 1);
      write_table(model, writer);
      const std::size_t before = strings.size();
      encode_column(column, model, strings);
      sizes.push_back(static_cast<std::uint16_t>(strings.size() - before));
    }
    writer.write_bytes(std::as_bytes(std::span(sizes)));
    writer.write_bytes(strings);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return decode_raw(in, shape, rows);
    std::vector<std::int8_t> codes(raw_bytes(shape) / sizeof(Bf16));
    if (auto decoded = decode_codes(in.payload[0], shape, codes.data()); !decoded) return decoded;
    std::vector<Bf16> max(static_cast<std::size_t>(shape.tokens));
    std::memcpy(max.data(), in.payload[0].data(), max.size() * sizeof(Bf16));
    for (const Bf16 size : max)
      if (!is_finite(size)) return bad_scalars();
    const auto top = static_cast<float>(largest_code(shape));
    const std::int8_t* code = codes.data();
    for (const Bf16 size : max)
      for (int channel = 0; channel < shape.channels; ++channel)
        *rows++ = to_bf16(static_cast<float>(*code++) / top * to_float(size));
    return {};
  }

 private:
  static Result<void> decode_codes(std::span<const std::byte> payload, const TensorShape& shape,
                                   std::int8_t* codes) {
    const auto channels = static_cast<std::size_t>(shape.channels);
    const int top = largest_code(shape);
    ByteReader in(payload);
    in.take(static_cast<std::size_t>(shape.tokens) * 2);
    const auto tables = in.take(channels * table_bytes(2 * top + 1));
    ByteReader sizes(in.take(channels * 2));
    if (!in.ok()) return check_payload(StreamId::anchor, payload, fixed_bytes(shape));
    for (std::size_t channel = 0; channel < channels; ++channel) {
      ColumnModel model;
      model.first = -top;
      model.count = 2 * top + 1;
      const auto table = tables.subspan(channel * table_bytes(model.count), table_bytes(model.count));
      if (auto read = read_table(table, model); !read) return read;
      const auto string = in.take(sizes.read<std::uint16_t>());
      if (!in.ok()) break;
      decode_column(string, model, shape.tokens, channels, codes + channel);
    }
    if (in.ok() && in.left() == 0) return {};
    return Error(ErrorCode::bad_data, "anchor payload",
                 "its channels' strings do not fill it; it is damaged");
  }
};

}  // namespace

std::unique_ptr<Codec> make_cachegen_code(const CodecOptions&) {
  return std::make_unique<CacheGenCode>();
}

}  // namespace lynxkv::codec
