// A hostile sender. The input edits real frames: which one, which byte, what value, whether the checksum is made anew
// (so that the checks behind it are reached), and the order. Whatever comes, the deserializer stays within the memory
// of its payloads, asks only for what exists, and gives all memory back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "codec/codec.hpp"
#include "page/wire.hpp"
#include "stream/deserializer.hpp"
#include "stream/frame_fields.hpp"

namespace {

using namespace lynxkv;

constexpr int tokens = 40;

void require(bool condition) {
  if (!condition) std::abort();
}

page::Geometry geometry() {
  page::Geometry made;
  made.layers = 2;
  made.kv_heads = 1;
  made.head_dim = 4;
  made.page_tokens = 32;
  return made;
}

struct Frame {
  page::WireHeader header;
  std::vector<std::byte> fragment;
};

struct Sender {
  std::unique_ptr<codec::Codec> codec;
  stream::Transfer transfer;
  std::vector<Frame> frames;

  explicit Sender(std::string_view mode) : codec(codec::make_codec(mode, {})) {
    transfer.request = 7;
    transfer.generation = 3;
    transfer.peer = 0;
    transfer.tokens = tokens;
    transfer.geometry = geometry();
    transfer.codec = codec.get();
    std::uint64_t sequence[codec::max_streams] = {};
    for (int i = 0; i < stream::tensor_count(transfer); ++i) {
      const auto tensor = stream::tensor_at(transfer, static_cast<std::size_t>(i));
      const auto shape = stream::shape_of(transfer, tensor);
      std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens * shape.channels));
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k].bits = static_cast<std::uint16_t>(0x3f00 + (k * 37 + static_cast<std::size_t>(i) * 11) % 200);
      codec::Encoded encoded;
      require(codec->encode(rows.data(), shape, encoded).ok());
      for (const codec::StreamSpec& spec : codec->streams()) {
        const auto& payload = encoded.payload[static_cast<std::size_t>(spec.id)];
        for (std::size_t at = 0; at < payload.size() || at == 0; at += 100) {
          Frame frame;
          frame.header = stream::settled_header(transfer, tensor, spec.id);
          frame.fragment.assign(payload.begin() + static_cast<std::ptrdiff_t>(std::min(at, payload.size())),
                                payload.begin() + static_cast<std::ptrdiff_t>(std::min(at + 100, payload.size())));
          frame.header.sequence = sequence[static_cast<std::size_t>(spec.id)]++;
          frame.header.payload_bytes = static_cast<std::uint32_t>(payload.size());
          frame.header.fragment_offset = static_cast<std::uint32_t>(at);
          frame.header.fragment_bytes = static_cast<std::uint32_t>(frame.fragment.size());
          frames.push_back(std::move(frame));
        }
      }
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Sender senders[] = {Sender("lynx"), Sender("lynx-int8"), Sender("int4"), Sender("bf16")};
  ByteReader reader(std::as_bytes(std::span(data, size)));
  const Sender& sender = senders[reader.read<std::uint8_t>() % std::size(senders)];

  page::PagePool pool(geometry(), page::Element::bf16, 64);
  page::SequenceKv target(pool);
  target.extend(tokens);
  stream::Deserializer deserializer;
  deserializer.expect(sender.transfer, &target);

  std::size_t next = 0;
  while (reader.ok() && reader.left() > 0) {
    // 0: the next frame as it is. Else an edited frame, out of turn.
    const auto what = reader.read<std::uint8_t>();
    const Frame& frame = what == 0 ? sender.frames[next++ % sender.frames.size()]
                                   : sender.frames[what % sender.frames.size()];
    comm::Message message;
    message.peer = 0;
    message.channel = frame.header.stream == 0 ? comm::Channel::anchor : comm::Channel::residual;
    page::append_frame(frame.header, frame.fragment, message.bytes);
    if (what != 0) {
      const auto at = reader.read<std::uint16_t>() % message.bytes.size();
      message.bytes[at] = static_cast<std::byte>(reader.read<std::uint8_t>());
      const auto how = reader.read<std::uint8_t>();
      if ((how & 1) != 0) {
        const auto parsed = page::parse_header(message.bytes);
        if (parsed.ok()) {
          std::vector<std::byte> repaired;
          page::append_frame(parsed.value(),
                             std::span(message.bytes).subspan(page::wire_header_bytes, parsed.value().fragment_bytes),
                             repaired);
          message.bytes = repaired;
        }
      }
      if ((how & 2) != 0) message.channel = comm::Channel::residual;
    }
    if (!deserializer.accept(std::move(message)).ok()) return 0;
    require(deserializer.held_bytes() <= 4u * tokens * 4 * 8);
    for (const stream::Missing& missing : deserializer.take_missing()) {
      require(missing.request == 7 && missing.attempt >= 1 && missing.attempt <= 3);
      require(missing.layer >= 0 && missing.layer < 2 && missing.page >= 0 && missing.page < 2);
    }
    try {
      deserializer.complete(2);
    } catch (const Error&) {
      return 0;
    }
  }
  deserializer.close(7);
  require(deserializer.held_bytes() == 0);
  return 0;
}
