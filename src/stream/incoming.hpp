// Incoming: one transfer at its receiver. It puts payloads together from fragments, knows what was lost, and decodes
// page tensors as their streams complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/bf16.hpp"
#include "base/result.hpp"
#include "page/sequence_kv.hpp"
#include "page/wire.hpp"
#include "stream/deserializer.hpp"
#include "stream/frame_fields.hpp"

namespace lynxkv::stream {

// Bytes of codes, over all transfers of a deserializer.
struct Held {
  std::size_t now = 0, most = 0;
  void add(std::size_t bytes) noexcept {
    now += bytes;
    most = now > most ? now : most;
  }
};

class Incoming {
 public:
  Incoming(const Transfer& transfer, page::SequenceKv* destination, Held& held);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  enum class Taken { used, dropped };

  // A whole frame whose checksum holds. Error{transport} where it contradicts the announcement.
  Result<Taken> take(const page::WireHeader& header, std::span<const std::byte> fragment, std::int64_t arrived_ns,
                     std::vector<Missing>& missing);
  // A frame that says that it is this transfer's, with a checksum that does not hold.
  Result<void> damaged(const page::WireHeader& header, std::vector<Missing>& missing);
  // `frames` frames at most, of a channel that carries anchors or the rest, came from the peer and could not be read.
  Result<void> unreadable(bool anchors, std::uint64_t frames, std::vector<Missing>& missing);

  // All was sent, long ago by the time that its link takes: what is not here is asked for again.
  Result<void> overdue(std::vector<Missing>& missing);

  // Decodes tensors that wait for it. Returns how many were decoded.
  Result<int> complete(int tensors);
  bool waits_for_completion() const noexcept { return !ready_.empty(); }

  const Transfer& transfer() const noexcept { return transfer_; }
  const Progress& progress() const noexcept { return progress_; }

 private:
  struct Payload {
    std::vector<std::byte> bytes;
    std::uint32_t size = 0;     // of the whole payload, once begun
    int asked = 0;              // resends asked for
    std::uint64_t asked_order = 0;  // of the last time, among all
    int attempt = 0;            // of the fragments in `bytes`
    bool begun = false;
    bool complete = false;
  };
  struct Tensor {
    Payload payload[codec::max_streams];
    codec::Level level = codec::Level::none;
    bool raw = false;
    bool raw_known = false;
    bool waiting = false;  // in ready_
  };
  struct Stream {
    std::uint64_t next_sequence = 0;
    std::uint64_t lost_frames = 0;     // of tensors that nothing is known of
    std::uint64_t damaged_frames = 0;  // counted in lost_frames when they came; the next gap is theirs
    bool last_seen = false;
    std::uint64_t answered_order = 0;  // of the resend that came last
  };

  Error contradiction(const page::WireHeader& header, const std::string& what) const;
  std::string refusal(const page::WireHeader& header) const;
  Result<Taken> append(Tensor& tensor, const page::WireHeader& header, std::span<const std::byte> fragment,
                       std::vector<Missing>& missing);
  Result<void> ask_again(std::size_t index, codec::StreamId stream, std::vector<Missing>& missing);
  Result<void> ask_for_lost(codec::StreamId stream, std::vector<Missing>& missing);
  Result<void> payload_complete(std::size_t index, codec::StreamId stream);
  codec::Level reachable(const Tensor& tensor) const noexcept;
  Result<void> decode(std::size_t index);
  void discard(Payload& payload) noexcept;
  void reached(codec::Level from, codec::Level to);

  Transfer transfer_;
  page::SequenceKv* destination_;
  Held& held_;
  std::vector<Tensor> tensors_;
  Stream streams_[codec::max_streams];
  std::uint64_t asked_order_ = 0;
  std::deque<std::size_t> ready_;      // tensors that complete() decodes, in order of completion
  int at_least_[4] = {};               // tensors by level reached
  Progress progress_;
  std::vector<Bf16> scratch_;          // where the destination is float32
};

}  // namespace lynxkv::stream
