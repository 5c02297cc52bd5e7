// Both CacheGen decoders under payloads with a few bytes changed and payloads that nobody encoded.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/bytes.hpp"
#include "codec/codec.hpp"

namespace {

using namespace lynxkv;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto code = codec::make_codec("cachegen-code", {});
  static const auto paper = codec::make_codec("cachegen-paper", {});
  ByteReader reader(std::as_bytes(std::span(data, size)));
  const auto kind = reader.read<std::uint8_t>();
  const codec::Codec& codec = kind % 2 == 0 ? *code : *paper;
  codec::TensorShape shape;
  shape.tokens = reader.read<std::uint8_t>() + 1;
  shape.channels = (reader.read<std::uint8_t>() % 20 + 1) * 2;
  shape.head_dim = 2;
  shape.layer = reader.read<std::uint8_t>() % 30;
  shape.layers = kind & 2 ? 30 : 0;
  shape.kind = kind & 4 ? page::Kind::value : page::Kind::key;

  std::vector<std::byte> payload;
  if (kind & 8) {
    const auto forged = reader.take(reader.left());
    payload.assign(forged.begin(), forged.end());
  } else {
    const auto edits = reader.take(std::min<std::size_t>(24, reader.left()));
    const auto left = reader.take(reader.left());
    std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels),
                           Bf16{0});
    for (std::size_t i = 0; i < rows.size() && left.size() >= 2; ++i) {
      std::memcpy(&rows[i], left.data() + (i % (left.size() / 2)) * 2, sizeof(Bf16));
      rows[i].bits &= 0xbfffu;  // sizes below 2: neither raw nor infinite
    }
    codec::Encoded out;
    codec.encode(rows.data(), shape, out).take();
    payload = out.payload[0];
    require(payload.size() <= codec.payload_bytes(codec::StreamId::anchor, shape, false));
    require(codec.decode(codec::Level::target, {{payload, {}, {}}, false}, shape, rows.data()).ok());
    for (std::size_t i = 0; i + 3 <= edits.size(); i += 3) {
      std::uint16_t at;
      std::memcpy(&at, edits.data() + i, sizeof at);
      payload[at % payload.size()] = edits[i + 2];
    }
  }
  std::vector<Bf16> decoded(static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels),
                            Bf16{0x1234});
  const std::vector<Bf16> before = decoded;
  if (!codec.decode(codec::Level::target, {{payload, {}, {}}, false}, shape, decoded.data()).ok())
    require(decoded == before);
  for (const Bf16 x : decoded) require((x.bits & 0x7fffu) <= 0x7f80u);
  return 0;
}
