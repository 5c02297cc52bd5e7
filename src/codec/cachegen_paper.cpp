// `cachegen-paper`: CacheGen (SIGCOMM 2024) as the paper describes it. Tokens form groups of ten; the first
// of a group is kept finer, eight bits scaled by its largest size over all channels, and the others are coded
// as differences to it as decoded, in bins that grow with depth: 0.5, 1 and 1.5 for the model's three thirds
// of layers (1 where the layers are not known). The paper gives bins without a unit; read here as the RMS
// difference of the channel in the page. Its choice among several levels by bandwidth is not part of a page
// codec, and its tables are made beforehand for a model, where these are made and sent with each page.
//   first token:  q = round_half_even(x / max * 127); a = bf16(q / 127 * max)
//   others:       step = bin * rms, rounded up to bf16; q = round_half_even((x - a) / step), held within 127;
//                 x' = bf16(a + q * step)
//   payload: u16 tokens (the rest does not tell), max bf16[groups], i8 q[groups][channels],
//            step bf16[channels], i8 first[channels], u8 count[channels] (each channel's alphabet: the codes
//            that occur), then each channel's table u16[count - 1], then u16 bytes[channels], then the
//            channels' strings
#include <algorithm>
#include <cmath>
#include <cstring>

#include "codec/cachegen_column.hpp"
#include "codec/shape.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

constexpr StreamSpec one_stream[] = {{StreamId::anchor, Level::target}};
constexpr int group = 10;
constexpr int most = 127;

int groups_of(const TensorShape& shape) {
  return (shape.tokens + group - 1) / group;
}
int others_of(const TensorShape& shape) {
  return shape.tokens - groups_of(shape);
}
float bin_of(const TensorShape& shape) {
  if (shape.layers == 0) return 1.0f;
  const std::int64_t third = std::int64_t{3} * shape.layer / shape.layers;
  return third == 0 ? 0.5f : third == 1 ? 1.0f : 1.5f;
}
Bf16 first_value(int q, float max) {
  return to_bf16(static_cast<float>(q) / static_cast<float>(most) * max);
}

// What comes before the tables.
struct Head {
  std::vector<Bf16> max;                 // [groups]
  std::vector<std::int8_t> first_codes;  // [groups][channels]
  std::vector<Bf16> step;                // [channels]
  std::vector<std::int8_t> codes;  // [others][channels]; a row at least, so that a column has an address

  explicit Head(const TensorShape& shape)
      : max(static_cast<std::size_t>(groups_of(shape))),
        first_codes(max.size() * static_cast<std::size_t>(shape.channels)),
        step(static_cast<std::size_t>(shape.channels)),
        codes(static_cast<std::size_t>(std::max(others_of(shape), 1)) * step.size()) {}

  Bf16 first(int token, std::size_t channel) const {
    const auto g = static_cast<std::size_t>(token / group);
    return first_value(first_codes[g * step.size() + channel], to_float(max[g]));
  }
};

void quantise_first_tokens(const Bf16* rows, const TensorShape& shape, Head& head) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  for (std::size_t g = 0; g < head.max.size(); ++g, rows += channels * group) {
    float max = 0;
    for (std::size_t channel = 0; channel < channels; ++channel)
      max = std::fmax(max, std::fabs(to_float(rows[channel])));
    head.max[g] = to_bf16(max);
    for (std::size_t channel = 0; channel < channels; ++channel)
      head.first_codes[g * channels + channel] =
          max > 0 ? static_cast<std::int8_t>(std::nearbyint(to_float(rows[channel]) / max * 127.0f))
                  : std::int8_t{0};
  }
}

void quantise_differences(const Bf16* rows, const TensorShape& shape, Head& head) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto difference = [&](int token) {
      return to_float(rows[static_cast<std::size_t>(token) * channels + channel]) -
             to_float(head.first(token, channel));
    };
    double sum = 0;
    for (int token = 0; token < shape.tokens; ++token)
      if (token % group != 0)
        sum += static_cast<double>(difference(token)) * static_cast<double>(difference(token));
    const double rms = others_of(shape) > 0 ? std::sqrt(sum / others_of(shape)) : 0.0;
    head.step[channel] = to_bf16_up(bin_of(shape) * static_cast<float>(rms));
    const float step = to_float(head.step[channel]);
    std::int8_t* code = head.codes.data() + channel;
    for (int token = 0; token < shape.tokens; ++token) {
      if (token % group == 0) continue;
      const float q = step > 0 ? std::nearbyint(difference(token) / step) : 0.0f;
      *code = static_cast<std::int8_t>(std::clamp(q, -127.0f, 127.0f));
      code += channels;
    }
  }
}

Error broken(const char* what) {
  return Error(ErrorCode::bad_data, "anchor payload", std::string(what) + "; it is damaged");
}

template <class T>
bool copy(ByteReader& in, std::vector<T>& out) {
  const auto bytes = in.take(out.size() * sizeof(T));
  if (bytes.size() != out.size() * sizeof(T)) return false;
  if (!bytes.empty()) std::memcpy(static_cast<void*>(out.data()), bytes.data(), bytes.size());
  return true;
}

Result<void> read_head(ByteReader& in, Head& head) {
  if (!copy(in, head.max) || !copy(in, head.first_codes) || !copy(in, head.step))
    return broken("it ends inside its first tokens or steps");
  for (const std::vector<Bf16>* scalars : {&head.max, &head.step})
    for (const Bf16 x : *scalars)
      if (!is_finite(x)) return bad_scalars();
  if (std::find(head.first_codes.begin(), head.first_codes.end(), -128) != head.first_codes.end())
    return broken("a code of a first token is -128, which no encoder writes");
  return {};
}

Result<void> read_codes(ByteReader& in, const TensorShape& shape, Head& head) {
  const std::size_t channels = head.step.size();
  std::vector<std::int8_t> first(channels);
  std::vector<std::uint8_t> count(channels);
  if (!copy(in, first) || !copy(in, count)) return broken("it ends inside its alphabets");
  std::vector<ColumnModel> models(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    models[channel].first = first[channel];
    models[channel].count = count[channel];
    if (count[channel] == 0 || first[channel] + count[channel] - 1 > most)
      return broken("a channel's alphabet is out of range");
    const auto table = in.take(table_bytes(count[channel]));
    if (!in.ok()) return broken("it ends inside its tables");
    if (auto read = read_table(table, models[channel]); !read) return read;
  }
  std::vector<std::uint16_t> sizes(channels);
  if (!copy(in, sizes)) return broken("it ends inside its strings' sizes");
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto string = in.take(sizes[channel]);
    if (!in.ok()) return broken("it ends inside its strings");
    decode_column(string, models[channel], others_of(shape), channels, head.codes.data() + channel);
  }
  return in.left() == 0 ? Result<void>() : broken("it goes on behind its strings");
}

class CacheGenPaper final : public Codec {
 public:
  std::string_view name() const noexcept override { return "cachegen-paper"; }
  std::span<const StreamSpec> streams() const noexcept override { return one_stream; }
  Level target() const noexcept override { return Level::target; }
  std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept override {
    if (stream != StreamId::anchor) return 0;
    if (raw) return raw_bytes(shape);
    const auto groups = static_cast<std::size_t>(groups_of(shape)),
               channels = static_cast<std::size_t>(shape.channels);
    return 2 + groups * (2 + channels) + channels * (6 + table_bytes(255) + column_bound(others_of(shape)));
  }

  Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const override {
    if (auto checked = check_shape(shape); !checked) return checked;
    const kernels::PageOutcome outcome = kernels::page_outcome(rows, raw_bytes(shape) / sizeof(Bf16));
    if (outcome == kernels::PageOutcome::not_finite) return not_finite(rows, shape);
    out.raw = outcome == kernels::PageOutcome::raw;
    if (out.raw) {
      encode_raw(rows, shape, out);
      return {};
    }
    Head head(shape);
    quantise_first_tokens(rows, shape, head);
    quantise_differences(rows, shape, head);
    for (auto& payload : out.payload) payload.clear();
    ByteWriter writer(out.payload[0]);
    writer.write(static_cast<std::uint16_t>(shape.tokens));
    writer.write_bytes(std::as_bytes(std::span(head.max)));
    writer.write_bytes(std::as_bytes(std::span(head.first_codes)));
    writer.write_bytes(std::as_bytes(std::span(head.step)));
    write_codes(head, others_of(shape), writer);
    return {};
  }

  Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const override {
    if (level != Level::target) return no_such_level(name(), level);
    if (auto checked = check_shape(shape); !checked) return checked;
    if (in.raw) return decode_raw(in, shape, rows);
    ByteReader payload(in.payload[0]);
    const int tokens = payload.read<std::uint16_t>();
    if (tokens != shape.tokens) return broken("it is of another number of tokens");
    Head head(shape);
    if (auto read = read_head(payload, head); !read) return read;
    if (auto read = read_codes(payload, shape, head); !read) return read;
    const std::int8_t* code = head.codes.data();
    for (int token = 0; token < shape.tokens; ++token)
      for (std::size_t channel = 0; channel < head.step.size(); ++channel) {
        const Bf16 a = head.first(token, channel);
        const float difference =
            token % group == 0 ? 0.0f : static_cast<float>(*code++) * to_float(head.step[channel]);
        *rows++ = token % group == 0 ? a : to_bf16(to_float(a) + difference);
      }
    return {};
  }

 private:
  static void write_codes(const Head& head, int rows, ByteWriter& writer) {
    const std::size_t channels = head.step.size();
    std::vector<ColumnModel> models;
    std::vector<std::byte> strings;
    std::vector<std::uint16_t> sizes;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const Column column{head.codes.data() + channel, channels, rows};
      int least = 0, largest = 0;
      for (int i = 0; i < rows; ++i) {
        const int code = column.codes[static_cast<std::size_t>(i) * channels];
        least = i == 0 ? code : std::min(least, code);
        largest = i == 0 ? code : std::max(largest, code);
      }
      models.push_back(rows > 0 ? model_of(column, least, largest - least + 1) : ColumnModel{});
      const std::size_t before = strings.size();
      encode_column(column, models.back(), strings);
      sizes.push_back(static_cast<std::uint16_t>(strings.size() - before));
    }
    for (const ColumnModel& model : models) writer.write(static_cast<std::int8_t>(model.first));
    for (const ColumnModel& model : models) writer.write(static_cast<std::uint8_t>(model.count));
    for (const ColumnModel& model : models) write_table(model, writer);
    writer.write_bytes(std::as_bytes(std::span(sizes)));
    writer.write_bytes(strings);
  }
};

}  // namespace

std::unique_ptr<Codec> make_cachegen_paper(const CodecOptions&) {
  return std::make_unique<CacheGenPaper>();
}

}  // namespace lynxkv::codec
