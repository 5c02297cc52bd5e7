// Deserializer: framed messages in, KV pages out. Headers and checksums are verified against the announced
// transfer; draft-quality pages are decoded at once, codes are kept until the stream that completes them has
// come, then the page is decoded in place between forward steps and its codes are freed.
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
  // A message of the anchor or the residual channel. Frames of unknown, finished or cancelled requests are
  // dropped and counted; a frame that contradicts its transfer's announcement is Error{transport} naming peer,
  // request, layer, page and stream.
  Result<void> accept(comm::Message message);
  // Decodes what waits for completion, at most `tensors` page tensors. True where more wait.
  bool complete(int tensors);
  // Frames that failed their checksum since the last call, at most three attempts each.
  std::vector<Missing> take_missing();
  const Progress& progress(std::uint64_t request) const;
  bool knows(std::uint64_t request) const;
  // Done or cancelled: codes are freed, late frames are dropped.
  void close(std::uint64_t request);
  std::uint64_t dropped_frames() const;
  // Bytes of codes held now and at most.
  std::size_t held_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lynxkv::stream
