// What the two ends of an NCCL route say to each other on the carrier, on the channel of the route's class.
// 17 bytes, little-endian: kind (1), number of the transfer on its route and class from 1 (8), bytes (8).
//   announce  sender to receiver: that many bytes stand ready
//   grant     receiver to sender: they have a place; both ends launch now. Bytes as announced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace lynxkv::comm {

enum class NcclFrameKind : std::uint8_t { announce = 1, grant = 2 };

struct NcclFrame {
  NcclFrameKind kind = NcclFrameKind::announce;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};
constexpr std::size_t nccl_frame_bytes = 1 + 8 + 8;

inline std::vector<std::byte> to_bytes(const NcclFrame& frame) {
  std::vector<std::byte> out;
  out.reserve(nccl_frame_bytes);
  ByteWriter writer(out);
  writer.write(frame.kind);
  writer.write(frame.number);
  writer.write(frame.bytes);
  return out;
}

inline Result<NcclFrame> parse_nccl_frame(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto kind = reader.read<std::uint8_t>();
  NcclFrame frame;
  frame.number = reader.read<std::uint64_t>();
  frame.bytes = reader.read<std::uint64_t>();
  const bool known = kind == static_cast<std::uint8_t>(NcclFrameKind::announce) || kind == static_cast<std::uint8_t>(NcclFrameKind::grant);
  if (!reader.ok() || bytes.size() != nccl_frame_bytes || !known)
    return Error(ErrorCode::transport, "NCCL route",
                 "a message of " + std::to_string(bytes.size()) + " bytes and kind " + std::to_string(kind) +
                     ", which no end of a route sends: run one build on all ranks");
  frame.kind = static_cast<NcclFrameKind>(kind);
  return frame;
}

}  // namespace lynxkv::comm
