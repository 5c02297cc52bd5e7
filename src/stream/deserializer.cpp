#include "stream/deserializer.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "page/wire.hpp"
#include "stream/incoming.hpp"

namespace lynxkv::stream {

struct Deserializer::State {
  Held held;
  std::map<std::uint64_t, Incoming> open;
  std::vector<Missing> missing;
  std::uint64_t dropped = 0;

  Incoming* find(std::uint64_t request) {
    const auto it = open.find(request);
    return it == open.end() ? nullptr : &it->second;
  }

  // Bytes of a message that nothing can be read from: whatever they were, all open transfers of the peer may lack it.
  Result<void> unreadable(const comm::Message& message, std::size_t bytes) {
    const std::uint64_t frames = 1 + bytes / (page::wire_header_bytes + 1);
    for (auto& [request, incoming] : open)
      if (incoming.transfer().peer == message.peer)
        if (auto asked = incoming.unreadable(message.channel == comm::Channel::anchor, frames, missing); !asked)
          return asked;
    return {};
  }

  Result<void> damaged(const comm::Message& message, const page::WireHeader& header) {
    Incoming* incoming = find(header.request);
    if (incoming == nullptr || incoming->transfer().peer != message.peer || !fits_channel(message, header))
      return unreadable(message, 0);
    return incoming->damaged(header, missing);
  }

  Result<void> whole(const comm::Message& message, const page::WireHeader& header,
                     std::span<const std::byte> fragment) {
    Incoming* incoming = find(header.request);
    if (incoming == nullptr) {
      ++dropped;
      return {};
    }
    const auto where = [&] {
      return place(message.peer, header.request, {header.layer, header.kind, static_cast<int>(header.page)},
                   static_cast<codec::StreamId>(header.stream));
    };
    if (incoming->transfer().peer != message.peer)
      return Error(ErrorCode::transport, where(),
                   fmt::format("the request was announced to come from rank {}", incoming->transfer().peer));
    if (!fits_channel(message, header))
      return Error(ErrorCode::transport, where(),
                   fmt::format("came on channel {}", message.channel == comm::Channel::anchor ? "anchor" : "residual"));
    const auto taken = incoming->take(header, fragment, message.arrived_ns, missing);
    if (!taken) return taken.error();
    if (taken.value() == Incoming::Taken::dropped) ++dropped;
    return {};
  }

  static bool fits_channel(const comm::Message& message, const page::WireHeader& header) {
    const bool anchor = header.stream == static_cast<std::uint8_t>(codec::StreamId::anchor);
    return anchor == (message.channel == comm::Channel::anchor);
  }
};

Deserializer::Deserializer() : state_(std::make_unique<State>()) {}
Deserializer::~Deserializer() = default;

void Deserializer::expect(const Transfer& transfer, page::SequenceKv* destination) {
  const bool fresh = state_->open.try_emplace(transfer.request, transfer, destination, state_->held).second;
  LYNXKV_CHECK(fresh);
}

Result<void> Deserializer::accept(comm::Message message) {
  LYNXKV_CHECK(message.channel != comm::Channel::control);
  std::span<const std::byte> rest = message.bytes;
  if (rest.empty()) return state_->unreadable(message, 0);
  while (!rest.empty()) {
    const auto header = page::parse_header(rest);
    if (!header) return state_->unreadable(message, rest.size());
    const std::size_t frame_bytes = page::wire_header_bytes + header.value().fragment_bytes;
    const auto fragment = rest.subspan(page::wire_header_bytes, header.value().fragment_bytes);
    const auto done = page::checksum_holds(header.value(), rest) ? state_->whole(message, header.value(), fragment)
                                                                 : state_->damaged(message, header.value());
    if (!done) return done;
    rest = rest.subspan(frame_bytes);
  }
  return {};
}

bool Deserializer::complete(int tensors) {
  bool more = false;
  for (auto& [request, incoming] : state_->open) {
    if (tensors > 0 && incoming.waits_for_completion()) tensors -= incoming.complete(tensors).take();
    more |= incoming.waits_for_completion();
  }
  return more;
}

Result<void> Deserializer::overdue(std::uint64_t request) {
  Incoming* incoming = state_->find(request);
  LYNXKV_CHECK(incoming != nullptr);
  return incoming->overdue(state_->missing);
}

std::vector<Missing> Deserializer::take_missing() { return std::exchange(state_->missing, {}); }

const Progress& Deserializer::progress(std::uint64_t request) const {
  const Incoming* incoming = state_->find(request);
  LYNXKV_CHECK(incoming != nullptr);
  return incoming->progress();
}

bool Deserializer::knows(std::uint64_t request) const { return state_->find(request) != nullptr; }

void Deserializer::close(std::uint64_t request) {
  state_->open.erase(request);
  std::erase_if(state_->missing, [&](const Missing& missing) { return missing.request == request; });
}

std::uint64_t Deserializer::dropped_frames() const { return state_->dropped; }
std::size_t Deserializer::held_bytes() const { return state_->held.now; }
std::size_t Deserializer::most_held_bytes() const { return state_->held.most; }

}  // namespace lynxkv::stream
