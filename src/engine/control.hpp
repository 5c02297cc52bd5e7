// Control messages between ranks: small, typed, versioned, every byte checked when read.
// Byte 0: version; byte 1: which message (its index in Control); then its fields in order, little-endian;
// byte strings as u32 length and bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace lynxkv::engine {

// Coordinator -> both ranks of a request: do sample `sample` in mode `mode` (index into transfer.modes).
// The first request of a sample prefills it; its pages stay until the one marked `last`.
struct Assign {
  std::uint64_t request = 0;
  std::int64_t sample = 0;
  std::int32_t mode = 0, prefill_rank = 0, decode_rank = 0;
  std::uint8_t last = 0;
  void fields(auto&& f) { f(request), f(sample), f(mode), f(prefill_rank), f(decode_rank), f(last); }
};
// Decode -> prefill: pages and codes are reserved; bytes may come.
struct Ready {
  std::uint64_t request = 0;
  void fields(auto&& f) { f(request); }
};
// Prefill -> decode: the prompt's KV is computed: time zero of this request, on the sender's clock.
struct Started {
  std::uint64_t request = 0;
  std::int64_t zero_ns = 0;
  double prefill_s = 0;  // submission to KV computed
  void fields(auto&& f) { f(request), f(zero_ns), f(prefill_s); }
};
// Prefill -> decode: everything was given to the wire.
struct Sent {
  std::uint64_t request = 0;
  std::array<std::uint64_t, 3> payload_bytes = {};
  std::uint64_t wire_bytes = 0;
  double encode_s = 0;
  void fields(auto&& f) { f(request), f(payload_bytes), f(wire_bytes), f(encode_s); }
};
// Decode -> prefill: one stream of one page tensor failed its checksum.
struct Resend {
  std::uint64_t request = 0;
  std::int32_t layer = 0, page = 0, attempt = 0;
  std::uint8_t kind = 0, stream = 0;
  void fields(auto&& f) { f(request), f(layer), f(page), f(attempt), f(kind), f(stream); }
};
// Decode -> prefill: a decoder waits for this request's residual.
struct Hurry {
  std::uint64_t request = 0;
  void fields(auto&& f) { f(request); }
};
// Decode -> prefill: the request is over; nothing of it is needed any more.
struct Release {
  std::uint64_t request = 0;
  void fields(auto&& f) { f(request); }
};
// Decode -> coordinator: the finished sample, as results::encode_row.
struct Done {
  std::uint64_t request = 0;
  std::vector<std::byte> row;
  void fields(auto&& f) { f(request), f(row); }
};
// Any -> coordinator: this rank was asked to stop (signal); finish what runs.
struct StopRequest {
  std::int32_t signal = 0;
  void fields(auto&& f) { f(signal); }
};
// Coordinator -> all: the job is over. `abandoned`: although requests run, for nothing moves any more.
struct End {
  std::uint8_t complete = 0, abandoned = 0;
  void fields(auto&& f) { f(complete), f(abandoned); }
};
// While the job stops. Any -> coordinator: something moved here. Coordinator -> all: the job stops, and something
// moved somewhere.
struct Moving {
  std::uint8_t unused = 0;
  void fields(auto&& f) { f(unused); }
};

using Control = std::variant<Assign, Ready, Started, Sent, Resend, Hurry, Release, Done, StopRequest, End, Moving>;

std::vector<std::byte> encode(const Control& message);
Result<Control> decode_control(std::span<const std::byte> bytes);

}  // namespace lynxkv::engine
