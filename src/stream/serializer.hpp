// Serializer: page tensors in, framed parcels out. Encoding of the next object overlaps the wire's work on
// the last one; the window keeps encoding from running ahead of the anchor stream.
// A payload is cut into frames that fill a parcel of the courier's good size at most; small neighbours share a
// message on the way (Parcel::joinable).
#pragma once

#include <cstdint>
#include <memory>

#include "comm/courier.hpp"
#include "stream/transfer.hpp"

namespace lynxkv::stream {

// Per transfer, at its end.
struct SentTotals {
  std::uint64_t payload_bytes[codec::max_streams] = {};  // by stream, headers not counted
  std::uint64_t wire_bytes = 0;                          // headers included
  double encode_seconds = 0;
  std::uint64_t resent_tensors = 0;
};

class Serializer {
 public:
  explicit Serializer(comm::Courier& courier);
  ~Serializer();

  void open(const Transfer& transfer);
  // False while enough anchor bytes wait for the wire: encode later. Enough is two objects, or what covers the
  // time that a rank may be busy computing.
  bool ready() const;
  // Encodes one page tensor (all streams) and queues its payloads. `rows`: [tokens][channels], positions
  // first_position .. of page `page`. Throws Error{bad_data} naming request, layer, K or V, position and
  // channel for a NaN or an infinity; nothing of that tensor is sent.
  void push(std::uint64_t request, int layer, page::Kind kind, int page, int first_position, int tokens,
            const Bf16* rows);
  // The receiver asks for one stream of one tensor again (attempt counts up). Same arguments as push(). A tensor
  // that was not pushed yet is left out: the receiver may ask too early, and the tensor comes anyway.
  void push_again(std::uint64_t request, int layer, page::Kind kind, int page, int first_position, int tokens,
                  const Bf16* rows, codec::StreamId stream, int attempt);
  // Nothing keeps the rest of this transfer from being encoded now. Where that is faster than the link, the residuals
  // wait for its last anchor: each that slipped into a gap between two anchors would delay all anchors behind it.
  void rush(std::uint64_t request);
  // The caller turns to other work. What was pushed goes on, and residuals may use a wire that anchors leave idle
  // meanwhile, until the next push.
  void rest();
  SentTotals totals(std::uint64_t request) const;
  void close(std::uint64_t request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lynxkv::stream
