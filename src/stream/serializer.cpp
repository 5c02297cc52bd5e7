#include "stream/serializer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "page/wire.hpp"
#include "stream/frame_fields.hpp"

namespace lynxkv::stream {
namespace {

// Covers a forward step of some tens of milliseconds on a link of 1 Gbit/s. The queue sorts by age, so a deep window
// delays no older request.
constexpr std::size_t least_window_bytes = std::size_t{4} << 20;

struct Outgoing {
  Transfer transfer;
  std::uint64_t sequence[codec::max_streams] = {};
  std::vector<bool> pushed;
  int pushed_count = 0;
  bool rushed = false;
  bool holds = false;  // the courier's residuals
  SentTotals totals;
};

// Names the first value that is no number, as the receiver of the message knows it: by position and channel.
Error encode_failure(const Transfer& transfer, const TensorId& tensor, const codec::TensorShape& shape,
                     const Bf16* rows, const Error& error) {
  const std::string where = fmt::format("request {}, layer {}, {}", transfer.request, tensor.layer,
                                        tensor.kind == page::Kind::key ? "K" : "V");
  for (int token = 0; token < shape.tokens; ++token)
    for (int channel = 0; channel < shape.channels; ++channel) {
      const Bf16 value = rows[static_cast<std::size_t>(token) * static_cast<std::size_t>(shape.channels) +
                              static_cast<std::size_t>(channel)];
      if (!is_finite(value))
        return Error(ErrorCode::bad_data, where,
                     fmt::format("position {}, channel {} is a NaN or an infinity (bits {:#06x}); nothing of this "
                                 "tensor was sent",
                                 shape.first_position + token, channel, value.bits));
    }
  return Error(ErrorCode::bad_data, where, error.what());
}

}  // namespace

struct Serializer::State {
  comm::Courier& courier;
  std::map<std::uint64_t, Outgoing> open;
  codec::Encoded encoded;
  std::size_t largest_object_bytes = 0;

  Outgoing& find(std::uint64_t request) {
    const auto it = open.find(request);
    LYNXKV_CHECK(it != open.end());
    return it->second;
  }

  codec::TensorShape checked_shape(const Outgoing& out, const TensorId& tensor, int first_position, int tokens) {
    const Transfer& transfer = out.transfer;
    LYNXKV_CHECK(tensor.layer >= 0 && tensor.layer < transfer.geometry.layers);
    LYNXKV_CHECK(tensor.page >= 0 && tensor.page < page_count(transfer));
    const codec::TensorShape shape = shape_of(transfer, tensor);
    LYNXKV_CHECK(first_position == shape.first_position && tokens == shape.tokens);
    return shape;
  }

  void encode(Outgoing& out, const TensorId& tensor, const codec::TensorShape& shape, const Bf16* rows) {
    const std::int64_t began_ns = now_ns();
    const auto done = out.transfer.codec->encode(rows, shape, encoded);
    if (!done) throw encode_failure(out.transfer, tensor, shape, rows, done.error());
    out.totals.encode_seconds += seconds_between(began_ns, now_ns());
  }

  // Whether encoding, by what it took so far, makes anchors faster than the link takes them.
  bool encodes_ahead(const Outgoing& out) const {
    const double link = courier.link_bytes_per_second();
    const double anchors = static_cast<double>(out.totals.payload_bytes[static_cast<int>(codec::StreamId::anchor)]);
    return link <= 0 || anchors >= link * out.totals.encode_seconds;
  }

  void hold(Outgoing& out, bool wanted) {
    if (wanted == out.holds) return;
    out.holds = wanted;
    if (wanted) courier.hold_residuals(out.transfer.request);
    else courier.release_residuals(out.transfer.request);
  }

  // Cuts one stream's payload into frames, one a parcel.
  void queue(Outgoing& out, const TensorId& tensor, codec::StreamId stream, int attempt, bool last) {
    const auto at = static_cast<std::size_t>(stream);
    const std::span<const std::byte> payload = encoded.payload[at];
    const std::size_t fragment_limit = courier.good_parcel_bytes() - page::wire_header_bytes;
    page::WireHeader header = settled_header(out.transfer, tensor, stream);
    LYNXKV_CHECK(payload.size() <= UINT32_MAX);
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.attempt = static_cast<std::uint8_t>(attempt);
    header.raw = encoded.raw;
    std::size_t offset = 0;
    do {  // an empty payload is a frame too: the stream is complete
      const auto fragment = payload.subspan(offset, std::min(fragment_limit, payload.size() - offset));
      header.sequence = out.sequence[at]++;
      header.fragment_offset = static_cast<std::uint32_t>(offset);
      header.fragment_bytes = static_cast<std::uint32_t>(fragment.size());
      offset += fragment.size();
      header.last = last && offset == payload.size();
      comm::Parcel parcel;
      parcel.channel = stream == codec::StreamId::anchor ? comm::Channel::anchor : comm::Channel::residual;
      parcel.peer = out.transfer.peer;
      parcel.request = out.transfer.request;
      parcel.joinable = true;
      parcel.bytes.reserve(page::wire_header_bytes + fragment.size() + comm::parcel_room_bytes);
      append_frame(header, fragment, parcel.bytes);
      out.totals.wire_bytes += parcel.bytes.size();
      courier.send(std::move(parcel));
    } while (offset < payload.size());
    out.totals.payload_bytes[at] += payload.size();
  }
};

Serializer::Serializer(comm::Courier& courier) : state_(new State{courier, {}, {}, 0}) {}
Serializer::~Serializer() = default;

void Serializer::open(const Transfer& transfer) {
  LYNXKV_CHECK(transfer.codec != nullptr && transfer.tokens >= 0 && state_->open.count(transfer.request) == 0);
  Outgoing out;
  out.transfer = transfer;
  out.pushed.assign(static_cast<std::size_t>(tensor_count(transfer)), false);
  state_->open.emplace(transfer.request, std::move(out));
}

bool Serializer::ready() const {
  const std::size_t window = std::max(2 * state_->largest_object_bytes, least_window_bytes);
  return state_->courier.waiting_bytes(comm::Channel::anchor) < window;
}

void Serializer::push(std::uint64_t request, int layer, page::Kind kind, int page, int first_position, int tokens,
                      const Bf16* rows) {
  Outgoing& out = state_->find(request);
  const TensorId tensor{layer, kind, page};
  const codec::TensorShape shape = state_->checked_shape(out, tensor, first_position, tokens);
  const std::size_t index = index_of(out.transfer, tensor);
  LYNXKV_CHECK(!out.pushed[index]);
  state_->encode(out, tensor, shape, rows);
  out.pushed[index] = true;
  const bool last = ++out.pushed_count == tensor_count(out.transfer);
  state_->hold(out, out.rushed && !last && state_->encodes_ahead(out));
  for (const codec::StreamSpec& spec : out.transfer.codec->streams()) state_->queue(out, tensor, spec.id, 0, last);
  state_->largest_object_bytes = std::max(state_->largest_object_bytes, state_->encoded.payload[0].size());
}

void Serializer::push_again(std::uint64_t request, int layer, page::Kind kind, int page, int first_position,
                            int tokens, const Bf16* rows, codec::StreamId stream, int attempt) {
  Outgoing& out = state_->find(request);
  const TensorId tensor{layer, kind, page};
  LYNXKV_CHECK(attempt > 0 && attempt <= UINT8_MAX);
  LYNXKV_CHECK(layer >= 0 && layer < out.transfer.geometry.layers && page >= 0 && page < page_count(out.transfer));
  if (!out.pushed[index_of(out.transfer, tensor)]) return;
  const codec::TensorShape shape = state_->checked_shape(out, tensor, first_position, tokens);
  state_->encode(out, tensor, shape, rows);
  state_->queue(out, tensor, stream, attempt, false);
  ++out.totals.resent_tensors;
}

void Serializer::rush(std::uint64_t request) { state_->find(request).rushed = true; }

void Serializer::rest() {
  for (auto& [request, out] : state_->open) state_->hold(out, false);
}

SentTotals Serializer::totals(std::uint64_t request) const { return state_->find(request).totals; }

void Serializer::close(std::uint64_t request) {
  const auto it = state_->open.find(request);
  if (it == state_->open.end()) return;
  state_->hold(it->second, false);
  state_->open.erase(it);
}

}  // namespace lynxkv::stream
