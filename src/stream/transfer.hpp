// What both ends of a transfer know about it before its first byte: the receiver checks every field of every
// header against this, and infers nothing from sizes.
#pragma once

#include <cstdint>
#include <string>

#include "codec/codec.hpp"
#include "page/geometry.hpp"

namespace lynxkv::stream {

struct Transfer {
  std::uint64_t request = 0;     // job-wide id; age follows from order
  std::uint32_t generation = 0;  // of the receiving pages: a late write of an earlier life is told apart
  int peer = -1;                 // the other end's rank
  int tokens = 0;                // prompt tokens whose KV travels (positions 0 .. tokens-1); 0 is a valid transfer
  page::Geometry geometry;
  const codec::Codec* codec = nullptr;
  codec::CodecOptions options;
};

}  // namespace lynxkv::stream
