// The exact stream under three kinds of input: pages of any bits have to come back to their bits; payloads
// with a few bytes changed, and payloads that nobody encoded, have to be refused or decoded to finite values.
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

// The input over and over as finite values; what it lacks is zeros.
std::vector<Bf16> page_of(ByteReader& reader, const codec::TensorShape& shape) {
  const auto left = reader.take(reader.left());
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels),
                         Bf16{0});
  for (std::size_t i = 0; i < rows.size() && left.size() >= 2; ++i) {
    std::memcpy(&rows[i], left.data() + (i % (left.size() / 2)) * 2, sizeof(Bf16));
    if (!is_finite(rows[i])) rows[i].bits &= 0xff7fu;
  }
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto plain = codec::make_codec("lynx-exact", {});
  static const auto paper =
      codec::make_codec("lynx-exact", {2.0f, 120, codec::Centre::mean, codec::Sigma::linear, 0});
  ByteReader reader(std::as_bytes(std::span(data, size)));
  const auto kind = reader.read<std::uint8_t>();
  const codec::Codec& codec = kind % 2 == 0 ? *plain : *paper;
  codec::TensorShape shape;
  shape.tokens = reader.read<std::uint8_t>() + 1;
  shape.channels = (reader.read<std::uint8_t>() % 70 + 1) * 2;
  shape.head_dim = 2;
  shape.first_position = kind & 2 ? 256 : 0;

  const auto edits = reader.take(std::min<std::size_t>(kind & 4 ? 24 : 0, reader.left()));
  const auto forged = reader.take(kind & 8 ? reader.left() / 2 : 0);
  const std::vector<Bf16> rows = page_of(reader, shape);
  codec::Encoded out;
  codec.encode(rows.data(), shape, out).take();
  require(out.payload[2].size() <= codec.payload_bytes(codec::StreamId::exact, shape, out.raw));
  const auto intact = out.payload[2];
  if (kind & 8) out.payload[2].assign(forged.begin(), forged.end());
  for (std::size_t i = 0; i + 3 <= edits.size() && !out.payload[2].empty(); i += 3) {
    std::uint16_t at;
    std::memcpy(&at, edits.data() + i, sizeof at);
    out.payload[2][at % out.payload[2].size()] = edits[i + 2];
  }
  const std::vector<Bf16> before(rows.size(), Bf16{0x1234});
  std::vector<Bf16> decoded = before;
  const codec::Payloads in{{out.payload[0], out.payload[1], out.payload[2]}, out.raw};
  const bool taken = codec.decode(codec::Level::exact, in, shape, decoded.data()).ok();
  if (out.payload[2] == intact) require(taken && decoded == rows);
  if (!taken) require(decoded == before);
  for (const Bf16 x : decoded) require(is_finite(x));
  return 0;
}
