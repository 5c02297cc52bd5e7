// Two ends of a transfer in one thread: a serializer on rank 0, a deserializer on rank 1, an in-process loop between
// them, and codecs simple enough to know every byte.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "comm/courier.hpp"
#include "comm/loop.hpp"
#include "page/wire.hpp"
#include "stream/deserializer.hpp"
#include "stream/serializer.hpp"

namespace lynxkv::stream {

// The plain values, in one stream that is the truth.
class PlainCodec : public codec::Codec {
 public:
  std::string_view name() const noexcept override { return "fake-plain"; }
  std::span<const codec::StreamSpec> streams() const noexcept override {
    static constexpr codec::StreamSpec specs[] = {{codec::StreamId::anchor, codec::Level::target}};
    return specs;
  }
  codec::Level target() const noexcept override { return codec::Level::target; }
  std::size_t payload_bytes(codec::StreamId, const codec::TensorShape& shape, bool) const noexcept override {
    return static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels) * 2;
  }
  Result<void> encode(const Bf16* rows, const codec::TensorShape& shape, codec::Encoded& out) const override {
    const std::size_t bytes = payload_bytes(codec::StreamId::anchor, shape, false);
    for (std::size_t i = 0; i < bytes / 2; ++i)
      if (!is_finite(rows[i])) return Error(ErrorCode::bad_data, "fake", "not finite");
    out.payload[0].resize(bytes);
    std::memcpy(out.payload[0].data(), rows, bytes);
    out.raw = false;
    return {};
  }
  Result<void> decode(codec::Level, const codec::Payloads& in, const codec::TensorShape& shape,
                      Bf16* rows) const override {
    const std::size_t bytes = payload_bytes(codec::StreamId::anchor, shape, false);
    if (in.payload[0].size() != bytes) return Error(ErrorCode::bad_data, "fake", "wrong size");
    std::memcpy(rows, in.payload[0].data(), bytes);
    return {};
  }
};

// High bytes in the anchor (DRAFT), low bytes in the residual (TARGET). A tensor whose first value is 1.0 travels
// raw: everything in the anchor, an empty residual.
class SplitCodec : public codec::Codec {
 public:
  std::string_view name() const noexcept override { return "fake-split"; }
  std::span<const codec::StreamSpec> streams() const noexcept override {
    static constexpr codec::StreamSpec specs[] = {{codec::StreamId::anchor, codec::Level::draft},
                                                  {codec::StreamId::residual, codec::Level::target}};
    return specs;
  }
  codec::Level target() const noexcept override { return codec::Level::target; }
  std::size_t payload_bytes(codec::StreamId stream, const codec::TensorShape& shape, bool raw) const noexcept override {
    const std::size_t values = static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels);
    if (raw) return stream == codec::StreamId::anchor ? values * 2 : 0;
    return stream == codec::StreamId::exact ? 0 : values;
  }
  Result<void> encode(const Bf16* rows, const codec::TensorShape& shape, codec::Encoded& out) const override {
    const std::size_t values = payload_bytes(codec::StreamId::anchor, shape, false);
    out.raw = rows[0].bits == 0x3f80;
    for (auto& payload : out.payload) payload.clear();
    for (std::size_t i = 0; i < values; ++i) {
      out.payload[0].push_back(static_cast<std::byte>(rows[i].bits >> 8));
      out.payload[out.raw ? 0 : 1].push_back(static_cast<std::byte>(rows[i].bits & 0xff));
    }
    return {};
  }
  Result<void> decode(codec::Level level, const codec::Payloads& in, const codec::TensorShape& shape,
                      Bf16* rows) const override {
    const std::size_t values = payload_bytes(codec::StreamId::anchor, shape, false);
    if (in.payload[0].size() != payload_bytes(codec::StreamId::anchor, shape, in.raw) ||
        (level == codec::Level::target && in.payload[1].size() != payload_bytes(codec::StreamId::residual, shape, in.raw)))
      return Error(ErrorCode::bad_data, "fake", "wrong size");
    const auto byte = [](std::byte b) { return static_cast<unsigned>(std::to_integer<unsigned char>(b)); };
    for (std::size_t i = 0; i < values; ++i) {
      const unsigned high = byte(in.payload[0][in.raw ? 2 * i : i]);
      unsigned low = 0;
      if (in.raw) low = byte(in.payload[0][2 * i + 1]);
      else if (level == codec::Level::target) low = byte(in.payload[1][i]);
      rows[i].bits = static_cast<std::uint16_t>(high << 8 | low);
    }
    return {};
  }
};

inline page::Geometry small_geometry(int page_tokens = 256) {
  page::Geometry geometry;
  geometry.layers = 2;
  geometry.kv_heads = 2;
  geometry.head_dim = 4;
  geometry.page_tokens = page_tokens;
  return geometry;
}

// Finite values that differ everywhere; never 1.0.
inline void fill(page::SequenceKv& kv, unsigned seed) {
  std::uint32_t state = seed * 2654435761u + 1;
  for (int page = 0; page < kv.page_count(); ++page)
    for (int layer = 0; layer < kv.geometry().layers; ++layer)
      for (const auto kind : {page::Kind::key, page::Kind::value}) {
        auto* rows = reinterpret_cast<Bf16*>(kv.page_data(layer, kind, page));
        for (int i = 0; i < kv.page_tokens(page) * kv.geometry().channels(); ++i) {
          state = state * 1664525u + 1013904223u;
          rows[i].bits = static_cast<std::uint16_t>(0x3000u | (state >> 20 & 0x8fffu));
        }
      }
}

class Rig {
 public:
  explicit Rig(int tokens, std::shared_ptr<const codec::Codec> codec = std::make_shared<SplitCodec>(),
               page::Geometry geometry = small_geometry(), std::size_t chunk_bytes = 256 * 1024,
               page::Element element = page::Element::bf16, double gbps = 0)
      : codec_(std::move(codec)),
        source_pool(geometry, page::Element::bf16, 4096),
        target_pool(geometry, element, 4096),
        source(source_pool),
        target(target_pool) {
    comm::LinkOptions options;
    options.residual_chunk_bytes = chunk_bytes;
    options.gbps = gbps;
    options.stall_seconds = 20;
    options.close_seconds = 2;
    auto ranks = comm::make_loop(2);
    sender = std::make_unique<comm::Courier>(std::move(ranks[0]), options);
    receiver = std::make_unique<comm::Courier>(std::move(ranks[1]), options);
    serializer = std::make_unique<Serializer>(*sender);
    source.extend(tokens);
    target.extend(tokens);
    fill(source, 1);
    transfer.request = 7;
    transfer.generation = 3;
    transfer.tokens = tokens;
    transfer.geometry = geometry;
    transfer.codec = codec_.get();
    Transfer out = transfer;
    out.peer = 1;
    serializer->open(out);
    transfer.peer = 0;
    deserializer.expect(transfer, &target);
  }

  static const Bf16* rows_of(const page::SequenceKv& kv, int layer, page::Kind kind, int page) {
    return reinterpret_cast<const Bf16*>(kv.page_data(layer, kind, page));
  }
  void push(int layer, page::Kind kind, int page) {
    serializer->push(7, layer, kind, page, source.page_first_position(page), source.page_tokens(page),
                     rows_of(source, layer, kind, page));
  }
  void push_all() {
    for (int page = 0; page < source.page_count(); ++page)
      for (int layer = 0; layer < source.geometry().layers; ++layer)
        for (const auto kind : {page::Kind::key, page::Kind::value}) push(layer, kind, page);
  }
  // Until all that was sent is in the receiver's hands.
  void settle() {
    sender->flush(std::chrono::seconds(20));
    for (const auto channel : {comm::Channel::anchor, comm::Channel::residual})
      while (receiver->totals(channel).received_bytes < sender->totals(channel).sent_bytes)
        receiver->wait(std::chrono::microseconds(100));
  }
  // All frames that were sent, each as a message of its own, in order of arrival per channel.
  std::vector<comm::Message> frames() {
    settle();
    std::vector<comm::Message> out;
    for (comm::Message message; receiver->receive(message);) {
      std::span<const std::byte> rest = message.bytes;
      while (!rest.empty()) {
        const auto header = page::parse_header(rest).take();
        const std::size_t bytes = page::wire_header_bytes + header.fragment_bytes;
        comm::Message one;
        one.channel = message.channel;
        one.peer = message.peer;
        one.arrived_ns = message.arrived_ns;
        one.bytes.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(bytes));
        out.push_back(std::move(one));
        rest = rest.subspan(bytes);
      }
    }
    return out;
  }
  static page::WireHeader header(const comm::Message& frame) { return page::parse_header(frame.bytes).take(); }
  // The frame with its header changed and the checksum made anew: a sender that is wrong, not a wire that is.
  static comm::Message altered(const comm::Message& frame, const std::function<void(page::WireHeader&)>& change) {
    comm::Message out = frame;
    page::WireHeader h = header(frame);
    change(h);
    out.bytes.clear();
    page::append_frame(h, std::span(frame.bytes).subspan(page::wire_header_bytes), out.bytes);
    return out;
  }
  void deliver(const comm::Message& frame) {
    const auto done = deserializer.accept(frame);
    ASSERT_TRUE(done.ok()) << done.error().what();
  }
  void deliver_all() {
    for (const comm::Message& frame : frames()) deliver(frame);
  }
  void complete() {
    while (deserializer.complete(3)) {
    }
  }
  // Answers what the receiver asks for, until it asks no more. How many times it asked.
  int resend_all() {
    int asked = 0;
    for (auto missing = deserializer.take_missing(); !missing.empty(); missing = deserializer.take_missing()) {
      for (const Missing& m : missing) {
        ++asked;
        serializer->push_again(m.request, m.layer, m.kind, m.page, source.page_first_position(m.page),
                               source.page_tokens(m.page), rows_of(source, m.layer, m.kind, m.page), m.stream,
                               m.attempt);
      }
      deliver_all();
    }
    return asked;
  }
  const Progress& progress() const { return deserializer.progress(7); }
  // Values that differ between the two ends; with `high_bytes_only` at draft quality.
  int differing(bool high_bytes_only = false) const {
    int count = 0;
    for (int page = 0; page < source.page_count(); ++page)
      for (int layer = 0; layer < source.geometry().layers; ++layer)
        for (const auto kind : {page::Kind::key, page::Kind::value})
          for (int i = 0; i < source.page_tokens(page) * source.geometry().channels(); ++i) {
            const unsigned a = rows_of(source, layer, kind, page)[i].bits;
            const unsigned b = rows_of(target, layer, kind, page)[i].bits;
            count += high_bytes_only ? (a & 0xff00u) != b : a != b;
          }
    return count;
  }

 private:
  std::shared_ptr<const codec::Codec> codec_;

 public:
  page::PagePool source_pool, target_pool;
  page::SequenceKv source, target;
  std::unique_ptr<comm::Courier> sender, receiver;
  std::unique_ptr<Serializer> serializer;
  Deserializer deserializer;
  Transfer transfer;
};

}  // namespace lynxkv::stream
