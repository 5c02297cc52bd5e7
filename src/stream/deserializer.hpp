// Deserializer: framed messages in, KV pages out. Headers and checksums are verified against the announced
// transfer; draft-quality pages are decoded at once, codes are kept until the stream that completes them has
// come, then the page is decoded in place between forward steps and its codes are freed.
// A frame that is damaged or missing makes its tensor's stream asked for again. Frames of one stream come in order,
// so a missing one shows when a later one comes; only the loss of a stream's very last frames shows nowhere but in
// silence: the caller, who knows what its peer has sent and how long its link was silent, calls overdue().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/transport.hpp"
#include "page/sequence_kv.hpp"
#include "stream/transfer.hpp"

namespace lynxkv::stream {

// How far one transfer has come. Times: base/clock.hpp of this host, 0 while it has not happened.
struct Progress {
  codec::Level level = codec::Level::none;   // every page tensor has at least this level, decoded
  std::int64_t first_byte_ns = 0;
  std::int64_t draft_ready_ns = 0;           // all tensors at draft (or beyond)
  std::int64_t target_ready_ns = 0;          // all tensors at the codec's target
  std::uint64_t payload_bytes[codec::max_streams] = {};
  double decode_seconds = 0;
  std::uint64_t refused_frames = 0;          // bad checksum or header; asked for again
};

// One stream of one page tensor that has to be sent again.
struct Missing {
  std::uint64_t request;
  int peer;
  int layer;
  page::Kind kind;
  int page;
  codec::StreamId stream;
  int attempt;
};

class Deserializer {
 public:
  Deserializer();
  ~Deserializer();

  // Before the first byte. `destination` already has transfer.tokens positions and outlives the transfer.
  void expect(const Transfer& transfer, page::SequenceKv* destination);
  // A message of the anchor or the residual channel. Frames of unknown, finished or cancelled requests, of an
  // earlier generation, and frames that came before are dropped and counted; a frame that contradicts its
  // transfer's announcement, and a stream that failed more than twelve times, is Error{transport} naming peer,
  // request, layer, page and stream.
  Result<void> accept(comm::Message message);
  // Decodes what waits for completion, at most `tensors` page tensors. True where more wait. Throws
  // Error{transport} for a payload that its codec refuses.
  bool complete(int tensors);
  // Asks for everything of `request` that is not here. Error{transport} for what was asked for too often.
  Result<void> overdue(std::uint64_t request);
  // What failed its checksum or got lost since the last call, at most twelve attempts each.
  std::vector<Missing> take_missing();
  const Progress& progress(std::uint64_t request) const;
  bool knows(std::uint64_t request) const;
  // Done or cancelled: codes are freed, late frames are dropped.
  void close(std::uint64_t request);
  std::uint64_t dropped_frames() const;
  // Bytes of codes held now, and the most that were held at a time.
  std::size_t held_bytes() const;
  std::size_t most_held_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lynxkv::stream
