// What couriers say to each other on the control channel, beside what they carry. Every control message begins
// with one byte, its type; type 0 has the caller's bytes behind it, the others two 8-byte numbers:
//   receipt   value: residual messages received from you in all
//   ping      value: my clock (ns); time: 1 where both ends shall hurry (clocks are being compared), else 0
//   pong      value: that of the ping; time: my clock (ns) when I answered
//   closing   value: 0, or 1 where an error ends this rank. I send nothing more but byes.
//   bye       I have nothing more for you, who are closing
//   report    value: 0. The job is about to end: log what you wait for.
//   alive     value: 0. My caller has made a step of its own (it computes), though it may have sent nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace lynxkv::comm {

enum class FrameType : std::uint8_t { user = 0, receipt, ping, pong, closing, bye, report, alive };

struct CourierFrame {
  FrameType type = FrameType::user;
  std::uint64_t value = 0;
  std::int64_t time = 0;
};
constexpr std::size_t courier_frame_bytes = 1 + 8 + 8;

inline std::vector<std::byte> to_bytes(const CourierFrame& frame) {
  std::vector<std::byte> out;
  out.reserve(courier_frame_bytes);
  ByteWriter writer(out);
  writer.write(frame.type);
  writer.write(frame.value);
  writer.write(frame.time);
  return out;
}

// type user: the caller's bytes are all but the first.
inline Result<CourierFrame> parse_courier_frame(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto type = reader.read<std::uint8_t>();
  if (!reader.ok()) return Error(ErrorCode::transport, "control message", "has no byte");
  if (type == static_cast<std::uint8_t>(FrameType::user)) return CourierFrame{};
  if (type > static_cast<std::uint8_t>(FrameType::alive) || bytes.size() != courier_frame_bytes)
    return Error(ErrorCode::transport, "control message",
                 "has type " + std::to_string(type) + " and " + std::to_string(bytes.size()) +
                     " bytes, which no courier sends: run one build on all ranks");
  CourierFrame frame;
  frame.type = static_cast<FrameType>(type);
  frame.value = reader.read<std::uint64_t>();
  frame.time = reader.read<std::int64_t>();
  return frame;
}

}  // namespace lynxkv::comm
