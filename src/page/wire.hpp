// Wire header: the 80 bytes in front of every piece of a page tensor's payload. They state the piece's place
// and the geometry in full, so that a receiver compares and never infers.
//
// A frame is one header and the fragment behind it. A stream's payload travels as one frame, or as several in
// order of their offset; a message holds one or more frames without gaps. All fields are little-endian:
//
//   offset  size  field
//        0     4  magic              the bytes "LKVP"
//        4     1  version            1
//        5     1  stream             0 anchor, 1 residual, 2 exact
//        6     2  codec              low 16 bits of XXH3-64 of the codec's name: tells a stray frame apart
//        8     8  request            job-wide id
//       16     8  sequence           frames of this request and stream that the sender made before, resends too
//       24     4  page
//       28     4  first position     in its sequence, of the tensor's first row
//       32     2  layer
//       34     2  tokens             rows of the tensor, 1 .. page tokens
//       36     4  channels           KV heads x head dimension
//       40     4  alpha              float32, finite and above 0
//       44     1  kind               0 key, 1 value
//       45     1  flags              bit 0 raw: the anchor payload holds plain bf16; bit 1 last: the final frame of
//                                    the request's stream (first attempts)
//       46     1  levels             of magnitude (112 or 120 for lynx)
//       47     1  sigma              0 log, 1 linear
//       48     1  sinks              tokens of a sequence that travel raw
//       49     1  attempt            0, then 1, 2, ... for each time it was asked for again
//       50     2  chunk tokens
//       52     2  head dimension
//       54     2  page tokens
//       56     4  generation         of the pages that receive it
//       60     4  payload bytes      of the whole stream of this tensor
//       64     4  fragment offset    of this frame's bytes in that payload
//       68     4  fragment bytes     in this frame, right behind the header
//       72     8  checksum           XXH3-64 over header (these 8 bytes zero) and fragment
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "page/geometry.hpp"

namespace lynxkv::page {

constexpr std::size_t wire_header_bytes = 80;
constexpr std::uint8_t wire_version = 1;
constexpr std::uint8_t wire_streams = 3;

struct WireHeader {
  std::uint64_t request = 0;
  std::uint64_t sequence = 0;
  std::uint64_t checksum = 0;  // set by parsing; append_frame() computes its own
  std::uint32_t generation = 0;
  std::uint32_t page = 0;
  std::uint32_t first_position = 0;
  std::uint32_t channels = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t fragment_offset = 0;
  std::uint32_t fragment_bytes = 0;
  float alpha = 0;
  std::uint16_t codec = 0;
  std::uint16_t layer = 0;
  std::uint16_t tokens = 0;
  std::uint16_t chunk_tokens = 0;
  std::uint16_t head_dim = 0;
  std::uint16_t page_tokens = 0;
  Kind kind = Kind::key;
  std::uint8_t stream = 0;
  std::uint8_t levels = 0;
  std::uint8_t sigma = 0;
  std::uint8_t sinks = 0;
  std::uint8_t attempt = 0;
  bool raw = false;
  bool last = false;

  friend bool operator==(const WireHeader&, const WireHeader&) = default;
};

std::uint16_t wire_codec(std::string_view codec_name) noexcept;

// Appends one frame to `out`. header.fragment_bytes equals fragment.size().
void append_frame(const WireHeader& header, std::span<const std::byte> fragment, std::vector<std::byte>& out);

// The header at the front of `bytes`, which may go on behind the frame. Checked: magic, version, every enum,
// flag and range, the fragment inside the payload, and the frame inside `bytes`. Not the checksum: a caller that
// trusts nothing of a damaged frame still has to know where the next one begins.
Result<WireHeader> parse_header(std::span<const std::byte> bytes);

// Whether the frame at the front of `bytes` is as it was sent. `header` is what parse_header() gave for them.
bool checksum_holds(const WireHeader& header, std::span<const std::byte> bytes) noexcept;

}  // namespace lynxkv::page
