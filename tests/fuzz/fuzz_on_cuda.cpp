// The decoders' CUDA kernels, emulated, beside the CPU's on the same hostile payloads: both refuse with the
// same kind of error and leave the rows alone, or both give the same rows. A read or write out of bounds is a
// fault of the emulated device, which ends the run. The input picks a mode, a shape and what is done to the
// payloads of a page.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "codec/on_cuda.hpp"
#include "tests/cuda_emulation/emulation.hpp"

namespace {

using namespace lynxkv;

struct Pair {
  std::unique_ptr<codec::Codec> cpu, cuda;
};

// lynx-exact more often than the others: its payload is the one that can lie.
std::vector<Pair> all_pairs() {
  codec::CodecOptions paper;
  paper.alpha = 2;
  paper.levels = 120;
  paper.centre = codec::Centre::mean;
  paper.sigma = codec::Sigma::linear;
  paper.sinks = 0;
  paper.early_channels_k = 8;
  paper.early_tokens_k = 5;
  std::vector<Pair> pairs;
  for (const std::string_view mode :
       {"lynx-exact", "lynx", "lynx-exact", "lynx-int8", "lynx-exact", "int8", "lynx-exact", "int4",
        "lynx-exact", "int8-channel", "lynx-exact", "int4-channel"})
    for (const codec::CodecOptions& options : {codec::CodecOptions{}, paper})
      pairs.push_back({codec::make_codec(mode, options), codec::make_codec_on_cuda(mode, options)});
  return pairs;
}

void require(bool condition) {
  if (!condition) std::abort();
}

codec::TensorShape shape_of(ByteReader& reader) {
  codec::TensorShape shape;
  const auto tokens = reader.read<std::uint8_t>(), channels = reader.read<std::uint8_t>(),
             form = reader.read<std::uint8_t>();
  shape.tokens =
      form & 1 ? tokens + 1 : tokens % 48 + 1;  // a page of two segments is slow here: now and then
  shape.channels = (form & 1 ? channels % 70 : channels % 20) * 2 + 2;
  shape.head_dim = form & 2 && shape.channels % 4 == 0 ? shape.channels / 2 : shape.channels;
  shape.chunk_tokens = form & 4 ? 1 + form / 8 : 32;
  shape.first_position = form & 128 ? 256 : 0;
  return shape;
}

// A page's payloads, filled from the input over and over where they are not an encoder's.
std::array<std::vector<std::byte>, codec::max_streams> payloads_of(ByteReader& reader,
                                                                   const codec::Codec& codec,
                                                                   const codec::TensorShape& shape,
                                                                   std::vector<Bf16>& rows) {
  const auto kind = reader.read<std::uint8_t>();
  const auto edits = reader.take(std::min<std::size_t>(24, reader.left()));
  const auto forged = reader.take(kind & 1 ? reader.left() / 2 : 0);
  const auto left = reader.take(reader.left());
  for (std::size_t i = 0; i < rows.size() && left.size() >= 2; ++i) {
    std::memcpy(&rows[i], left.data() + (i % (left.size() / 2)) * 2, sizeof(Bf16));
    rows[i].bits &= kind & 2 ? 0xbfffu : 0xfeffu;  // neither raw nor infinite
    if ((rows[i].bits & 0x7fffu) >= 0x7e80u) rows[i].bits &= 0x80ffu;
  }
  codec::Encoded out;
  codec.encode(rows.data(), shape, out).take();
  const std::size_t last = codec.streams().size() - 1;
  if (kind & 1) out.payload[last].assign(forged.begin(), forged.end());
  for (std::size_t i = 0; i + 3 <= edits.size() && kind & 4; i += 3) {
    std::uint16_t at;
    std::memcpy(&at, edits.data() + i, sizeof at);
    auto& payload = out.payload[kind & 8 ? i / 3 % (last + 1) : last];
    if (!payload.empty()) payload[at % payload.size()] = edits[i + 2];
  }
  return out.payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Pair> pairs = all_pairs();
  ByteReader reader(std::as_bytes(std::span(data, size)));
  const Pair& pair = pairs[reader.read<std::uint8_t>() % pairs.size()];
  const codec::TensorShape shape = shape_of(reader);
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels),
                         Bf16{0});
  const auto payload = payloads_of(reader, *pair.cpu, shape, rows);
  const codec::Payloads in{{payload[0], payload[1], payload[2]}, false};
  const std::vector<Bf16> before(rows.size(), Bf16{0x1234});
  for (const codec::StreamSpec& stream : pair.cpu->streams()) {
    if (stream.enables == codec::Level::none) continue;
    cuda_emulation::reset({});
    std::vector<Bf16> on_cpu = before, on_cuda = before;
    const auto cpu = pair.cpu->decode(stream.enables, in, shape, on_cpu.data());
    const auto cuda =
        pair.cuda->decode(stream.enables, in, shape, on_cuda.data());  // a device's fault is thrown
    require(cpu.ok() == cuda.ok() && on_cpu == on_cuda);
    if (!cpu.ok()) require(cpu.error().code() == cuda.error().code() && on_cuda == before);
  }
  return 0;
}
