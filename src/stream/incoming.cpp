#include "stream/incoming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace lynxkv::stream {
namespace {

// Several, for a lost message tells not what it held: what is still on its way may be asked for as well.
constexpr int most_attempts = 12;

TensorId tensor_of(const page::WireHeader& header) {
  return {header.layer, header.kind, static_cast<int>(header.page)};
}

}  // namespace

Incoming::Incoming(const Transfer& transfer, page::SequenceKv* destination, Held& held)
    : transfer_(transfer), destination_(destination), held_(held) {
  LYNXKV_CHECK(transfer.codec != nullptr && destination != nullptr && transfer.tokens >= 0);
  LYNXKV_CHECK(destination->geometry() == transfer.geometry && destination->length() >= transfer.tokens);
  for (int page = 0; page < page_count(transfer); ++page) {
    const codec::TensorShape shape = shape_of(transfer, {0, page::Kind::key, page});
    LYNXKV_CHECK(destination->page_first_position(page) == shape.first_position &&
                 destination->page_tokens(page) >= shape.tokens);
  }
  tensors_.resize(static_cast<std::size_t>(tensor_count(transfer)));
  if (tensors_.empty()) {
    progress_.level = transfer.codec->streams().back().enables;
    progress_.first_byte_ns = progress_.draft_ready_ns = progress_.target_ready_ns = now_ns();
  }
}

Incoming::~Incoming() {
  for (Tensor& tensor : tensors_)
    for (Payload& payload : tensor.payload) discard(payload);
}

Error Incoming::contradiction(const page::WireHeader& header, const std::string& what) const {
  return Error(ErrorCode::transport,
               place(transfer_.peer, header.request, tensor_of(header), static_cast<codec::StreamId>(header.stream)),
               what);
}

// Why a frame of this request cannot be what was announced; empty where it can.
std::string Incoming::refusal(const page::WireHeader& h) const {
  const auto streams = transfer_.codec->streams();
  const auto id = static_cast<codec::StreamId>(h.stream);
  if (std::none_of(streams.begin(), streams.end(), [&](const codec::StreamSpec& spec) { return spec.id == id; }))
    return fmt::format("codec {} has no such stream", transfer_.codec->name());
  if (h.layer >= transfer_.geometry.layers)
    return fmt::format("layer: announced {} layers, found layer {}", transfer_.geometry.layers, h.layer);
  if (h.page >= static_cast<std::uint32_t>(page_count(transfer_)))
    return fmt::format("page: announced {} pages, found page {}", page_count(transfer_), h.page);
  if (std::string text = difference(settled_header(transfer_, tensor_of(h), id), h); !text.empty()) return text;
  const std::size_t most = transfer_.codec->payload_bytes(id, shape_of(transfer_, tensor_of(h)), h.raw);
  if (h.payload_bytes > most)
    return fmt::format("payload bytes: at most {} for this tensor, found {}", most, h.payload_bytes);
  return {};
}

Result<Incoming::Taken> Incoming::take(const page::WireHeader& h, std::span<const std::byte> fragment,
                                       std::int64_t arrived_ns, std::vector<Missing>& missing) {
  if (static_cast<std::int32_t>(h.generation - transfer_.generation) < 0) return Taken::dropped;
  if (h.generation != transfer_.generation)
    return contradiction(h, fmt::format("generation: announced {}, found {}", transfer_.generation, h.generation));
  if (std::string text = refusal(h); !text.empty()) return contradiction(h, text);

  const auto id = static_cast<codec::StreamId>(h.stream);
  const std::size_t index = index_of(transfer_, tensor_of(h));
  Tensor& tensor = tensors_[index];
  if (tensor.raw_known && tensor.raw != h.raw)
    return contradiction(h, fmt::format("raw flag: {} in the tensor's earlier frames, {} here", tensor.raw, h.raw));
  if (progress_.first_byte_ns == 0) progress_.first_byte_ns = arrived_ns;
  Stream& stream = streams_[h.stream];
  if (h.sequence >= stream.next_sequence) {
    const std::uint64_t gap = h.sequence - stream.next_sequence;
    stream.lost_frames += gap - std::min(gap, stream.damaged_frames);
    stream.damaged_frames = 0;
    stream.next_sequence = h.sequence + 1;
  }
  stream.last_seen |= h.last;
  const auto taken = append(tensor, h, fragment, missing);
  if (!taken) return taken.error();
  if (taken.value() == Taken::used && tensor.payload[h.stream].complete)
    if (auto done = payload_complete(index, id); !done) return done.error();
  if (auto asked = ask_for_lost(id, missing); !asked) return asked.error();
  return taken;
}

Result<Incoming::Taken> Incoming::append(Tensor& tensor, const page::WireHeader& h,
                                         std::span<const std::byte> fragment, std::vector<Missing>& missing) {
  Payload& payload = tensor.payload[h.stream];
  if (h.attempt > 0 && h.attempt == payload.asked)
    streams_[h.stream].answered_order = std::max(streams_[h.stream].answered_order, payload.asked_order);
  if (payload.complete) return Taken::dropped;
  if (h.attempt > payload.asked)
    return contradiction(h, fmt::format("attempt {} was never asked for (the last one was {})", h.attempt, payload.asked));
  if (payload.begun && h.attempt < payload.attempt) return Taken::dropped;
  if (h.fragment_offset == 0 && (!payload.begun || h.attempt > payload.attempt)) {
    discard(payload);
    payload.begun = true;
    payload.attempt = h.attempt;
    payload.size = h.payload_bytes;
    payload.bytes.reserve(h.payload_bytes);
    held_.add(h.payload_bytes);
    tensor.raw = h.raw;
    tensor.raw_known = true;
  }
  const bool continues = payload.begun && h.attempt == payload.attempt && h.fragment_offset == payload.bytes.size();
  if (!continues) {
    const bool seen = payload.begun && h.attempt == payload.attempt &&
                      h.fragment_offset + std::uint64_t{h.fragment_bytes} <= payload.bytes.size();
    // The rest of a payload that is already asked for again.
    if (seen || h.attempt < payload.asked) return Taken::dropped;
    Stream& stream = streams_[h.stream];
    if (stream.lost_frames > 0) --stream.lost_frames;
    if (auto asked = ask_again(index_of(transfer_, tensor_of(h)), static_cast<codec::StreamId>(h.stream), missing);
        !asked)
      return asked.error();
    return Taken::dropped;
  }
  if (h.payload_bytes != payload.size)
    return contradiction(h, fmt::format("payload bytes: {} in the first fragment, {} here", payload.size, h.payload_bytes));
  payload.bytes.insert(payload.bytes.end(), fragment.begin(), fragment.end());
  payload.complete = payload.bytes.size() == payload.size;
  if (payload.complete) progress_.payload_bytes[h.stream] += payload.size;
  return Taken::used;
}

Result<void> Incoming::damaged(const page::WireHeader& h, std::vector<Missing>& missing) {
  ++progress_.refused_frames;
  const auto id = static_cast<codec::StreamId>(h.stream);
  Stream& stream = streams_[h.stream];
  ++stream.damaged_frames;
  if (h.generation != transfer_.generation || !refusal(h).empty()) {
    ++stream.lost_frames;
    return ask_for_lost(id, missing);
  }
  // What the header says may itself be the damage, so it is a hint: that tensor is asked for without waiting, and
  // the frame still counts as lost until every tensor is here. A resend that is waited for is no mere hint.
  const std::size_t index = index_of(transfer_, tensor_of(h));
  const Payload& payload = tensors_[index].payload[h.stream];
  const bool awaited_resend = h.attempt > 0 && h.attempt == payload.asked && !payload.complete;
  if (!awaited_resend) ++stream.lost_frames;
  if (!payload.complete && h.attempt >= payload.asked)
    if (auto asked = ask_again(index, id, missing); !asked) return asked;
  return ask_for_lost(id, missing);
}

Result<void> Incoming::unreadable(bool anchors, std::uint64_t frames, std::vector<Missing>& missing) {
  for (const codec::StreamSpec& spec : transfer_.codec->streams()) {
    if ((spec.id == codec::StreamId::anchor) != anchors) continue;
    streams_[static_cast<std::size_t>(spec.id)].lost_frames += frames;
    streams_[static_cast<std::size_t>(spec.id)].damaged_frames += frames;
    if (auto asked = ask_for_lost(spec.id, missing); !asked) return asked;
  }
  return {};
}

Result<void> Incoming::overdue(std::vector<Missing>& missing) {
  for (const codec::StreamSpec& spec : transfer_.codec->streams())
    for (std::size_t index = 0; index < tensors_.size(); ++index)
      if (!tensors_[index].payload[static_cast<std::size_t>(spec.id)].complete)
        if (auto asked = ask_again(index, spec.id, missing); !asked) return asked;
  return {};
}

Result<void> Incoming::ask_again(std::size_t index, codec::StreamId stream, std::vector<Missing>& missing) {
  Payload& payload = tensors_[index].payload[static_cast<std::size_t>(stream)];
  const TensorId tensor = tensor_at(transfer_, index);
  discard(payload);
  if (payload.asked == most_attempts)
    return Error(ErrorCode::transport, place(transfer_.peer, transfer_.request, tensor, stream),
                 fmt::format("damaged or lost on the way {} times; check the link and its drivers", most_attempts + 1));
  ++payload.asked;
  payload.asked_order = ++asked_order_;
  missing.push_back(
      {transfer_.request, transfer_.peer, tensor.layer, tensor.kind, tensor.page, stream, payload.asked});
  return {};
}

// Frames are missing and nothing tells which tensors they belonged to. Once the stream's last frame is here, or no
// more tensors are open than frames are missing, it can only be those that are still open. Behind the last frame
// only resends come, so then one of those may be what is missing: one that was asked for before the one that came last,
// for the sender answers in order. To ask for all of them at each loss would use up their attempts.
Result<void> Incoming::ask_for_lost(codec::StreamId id, std::vector<Missing>& missing) {
  const auto at = static_cast<std::size_t>(id);
  Stream& stream = streams_[at];
  if (stream.lost_frames == 0) return {};
  std::vector<std::size_t> open;
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    const Payload& payload = tensors_[index].payload[at];
    if (payload.complete) continue;
    const bool comes = payload.asked_order > stream.answered_order ||
                       (payload.begun && payload.asked > 0 && payload.asked_order == stream.answered_order);
    const bool on_its_way = stream.last_seen ? comes : payload.asked > 0 && !payload.begun;
    if (!on_its_way) open.push_back(index);
  }
  if (!stream.last_seen && open.size() > stream.lost_frames) return {};
  if (open.empty() && stream.last_seen) return {};  // what comes next tells more
  stream.lost_frames = 0;
  for (const std::size_t index : open)
    if (auto asked = ask_again(index, id, missing); !asked) return asked;
  return {};
}

Result<void> Incoming::payload_complete(std::size_t index, codec::StreamId stream) {
  Tensor& tensor = tensors_[index];
  if (reachable(tensor) <= tensor.level) return {};
  // What drafting waits for is decoded at once; the rest when the engine has time between two steps.
  if (stream == transfer_.codec->streams().front().id) return decode(index);
  if (!tensor.waiting) ready_.push_back(index);
  tensor.waiting = true;
  return {};
}

codec::Level Incoming::reachable(const Tensor& tensor) const noexcept {
  codec::Level level = codec::Level::none;
  for (const codec::StreamSpec& spec : transfer_.codec->streams()) {
    if (!tensor.payload[static_cast<std::size_t>(spec.id)].complete) break;
    level = std::max(level, spec.enables);
  }
  return level;
}

Result<int> Incoming::complete(int tensors) {
  int decoded = 0;
  while (!ready_.empty() && decoded < tensors) {
    const std::size_t index = ready_.front();
    ready_.pop_front();
    tensors_[index].waiting = false;
    if (reachable(tensors_[index]) <= tensors_[index].level) continue;
    if (auto done = decode(index); !done) return done.error();
    ++decoded;
  }
  return decoded;
}

Result<void> Incoming::decode(std::size_t index) {
  Tensor& tensor = tensors_[index];
  const TensorId id = tensor_at(transfer_, index);
  const codec::TensorShape shape = shape_of(transfer_, id);
  const codec::Level level = reachable(tensor);
  codec::Payloads in;
  in.raw = tensor.raw;
  for (int stream = 0; stream < codec::max_streams; ++stream)
    if (tensor.payload[stream].complete) in.payload[static_cast<std::size_t>(stream)] = tensor.payload[stream].bytes;

  const std::int64_t began_ns = now_ns();
  std::byte* rows = destination_->page_data(id.layer, id.kind, id.page);
  const auto values = static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels);
  const bool widens = destination_->element() == page::Element::f32;
  if (widens) scratch_.resize(values);
  const auto done =
      transfer_.codec->decode(level, in, shape, widens ? scratch_.data() : reinterpret_cast<Bf16*>(rows));
  if (!done)
    return Error(ErrorCode::transport, place(transfer_.peer, transfer_.request, id, transfer_.codec->streams()[0].id),
                 fmt::format("the codec refuses the payload: {}", done.error().what()));
  if (widens)
    for (std::size_t i = 0; i < values; ++i) {
      const float wide = to_float(scratch_[i]);
      std::memcpy(rows + i * sizeof wide, &wide, sizeof wide);
    }
  const std::int64_t ended_ns = now_ns();
  progress_.decode_seconds += seconds_between(began_ns, ended_ns);
  reached(tensor.level, level);
  tensor.level = level;
  if (level >= transfer_.codec->streams().back().enables)
    for (Payload& payload : tensor.payload) discard(payload);
  return {};
}

void Incoming::discard(Payload& payload) noexcept {
  // A payload that was used stays complete: a late copy of it is known for what it is.
  if (payload.begun) held_.now -= payload.size;
  payload.bytes = {};
  payload.begun = false;
}

void Incoming::reached(codec::Level from, codec::Level to) {
  const auto all = static_cast<int>(tensors_.size());
  for (int level = static_cast<int>(from) + 1; level <= static_cast<int>(to); ++level) {
    if (++at_least_[level] < all) continue;
    progress_.level = static_cast<codec::Level>(level);
    if (level == static_cast<int>(codec::Level::draft)) progress_.draft_ready_ns = now_ns();
    if (level == static_cast<int>(transfer_.codec->target())) progress_.target_ready_ns = now_ns();
  }
}

}  // namespace lynxkv::stream
