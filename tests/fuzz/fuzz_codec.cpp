// Every decoder on payloads that nobody encoded. The input picks a mode, a shape and the sizes of the streams;
// whatever it says, a decoder either fills the rows with values that are no NaN, or refuses and leaves them alone.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "codec/codec.hpp"

namespace {

using namespace lynxkv;

// Options that differ in what a decoder does; one codec of each, made once.
std::vector<std::unique_ptr<codec::Codec>> all_codecs() {
  codec::CodecOptions plain, paper;
  paper.alpha = 2;
  paper.levels = 120;
  paper.centre = codec::Centre::mean;
  paper.sigma = codec::Sigma::linear;
  paper.sinks = 0;
  std::vector<std::unique_ptr<codec::Codec>> codecs;
  for (const std::string_view mode : codec::mode_names()) {
    codecs.push_back(codec::make_codec(mode, plain));
    codecs.push_back(codec::make_codec(mode, paper));
  }
  codec::CodecOptions early;  // a payload that has a list in it
  early.early_channels_k = 12;
  early.early_tokens_k = 40;
  early.sinks = 2;
  for (const std::string_view mode : {"lynx", "lynx-int4", "lynx-int8", "lynx-exact"}) codecs.push_back(codec::make_codec(mode, early));
  return codecs;
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto codecs = all_codecs();
  ByteReader reader(std::as_bytes(std::span(data, size)));
  const auto& codec = *codecs[reader.read<std::uint8_t>() % codecs.size()];
  const auto level = codec::Level(reader.read<std::uint8_t>() % 4);
  codec::TensorShape shape;
  shape.tokens = reader.read<std::uint8_t>() + 1;
  shape.channels = (reader.read<std::uint8_t>() % 80 + 1) * 2;
  shape.head_dim = reader.read<std::uint8_t>() % 2 == 0 ? shape.channels : shape.channels / 2;
  shape.chunk_tokens = reader.read<std::uint8_t>() % 2 == 0 ? 32 : 1 + reader.read<std::uint8_t>() % 64;
  shape.first_position = reader.read<std::uint8_t>() % 2 * 256;
  codec::Payloads in;
  in.raw = reader.read<std::uint8_t>() % 4 == 0;
  // Streams of the right sizes, filled with the input over and over; a last byte may make one of them wrong.
  const std::uint8_t wrong = reader.read<std::uint8_t>();
  const auto left = reader.take(reader.left());
  std::array<std::vector<std::byte>, codec::max_streams> payload;
  for (std::size_t stream = 0, next = 0; stream < payload.size(); ++stream) {
    std::size_t bytes = codec.payload_bytes(codec::StreamId(stream), shape, in.raw);
    if (wrong % 8 == stream) bytes = wrong / 8 % 2 == 0 ? bytes + 1 : bytes - (bytes > 0 ? 1 : 0);
    if (wrong % 8 == stream + 3) bytes = bytes * (wrong / 8) / 32;  // variable streams: any length up to the bound
    payload[stream].resize(bytes);
    for (std::byte& b : payload[stream]) b = left.empty() ? std::byte{0} : left[next++ % left.size()];
    in.payload[stream] = payload[stream];
  }
  const std::size_t values = static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels);
  const std::vector<Bf16> before(values, Bf16{0x1234});
  std::vector<Bf16> rows = before;
  if (codec.decode(level, in, shape, rows.data()).ok()) {
    for (const Bf16 x : rows) require((x.bits & 0x7fffu) <= 0x7f80u);
  } else {
    require(rows == before || level == codec::Level::exact);  // an entropy-coded stream shows its damage at its end
  }
  return 0;
}
