// What couriers say to each other on the control channel, beside what they carry. Every control message begins
// with one byte, its type; type 0 has the caller's bytes behind it, the others two 8-byte numbers:
//   receipt   value: residual messages received from you in all
//   ping      value: my clock (ns); time: 1 where both ends shall hurry (clocks are being compared), else 0
//   pong      value: that of the ping; time: my clock (ns) when I answered
//   closing   value: 0, or 1 where an error ends this rank. I send nothing more but byes.
//   bye       I have nothing more for you, who are closing
//   report    value: 0. The job is about to end: log what you wait for.
//   alive     value: 0. My caller has made a step of its own (it computes), though it may have sent nothing.
//   posted    value: residual messages sent to you in all, none of which has been acknowledged for a while
// Every message has a seal behind it. Control: a 4-byte number (of the caller's messages, by pair) and 4 bytes of
// checksum over all before. A damaged message counts as lost: what couriers say heals by itself, a lost message of the
// caller's shows as a gap of numbers and is an error. Data: 8 bytes departure on an emulated link (else 0), 4 bytes
// number of the residual message, 4 bytes of checksum over these twelve; the data have checksums of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "base/result.hpp"

namespace lynxkv::comm {

enum class FrameType : std::uint8_t { user = 0, receipt, ping, pong, closing, bye, report, alive, posted };

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
  if (type > static_cast<std::uint8_t>(FrameType::posted) || bytes.size() != courier_frame_bytes)
    return Error(ErrorCode::transport, "control message",
                 "has type " + std::to_string(type) + " and " + std::to_string(bytes.size()) +
                     " bytes, which no courier sends: run one build on all ranks");
  CourierFrame frame;
  frame.type = static_cast<FrameType>(type);
  frame.value = reader.read<std::uint64_t>();
  frame.time = reader.read<std::int64_t>();
  return frame;
}

constexpr std::size_t control_seal_bytes = 4 + 4;
constexpr std::size_t data_seal_bytes = 8 + 4 + 4;

inline void seal_control(std::vector<std::byte>& bytes, std::uint32_t number) {
  ByteWriter writer(bytes);
  writer.write(number);
  writer.write(static_cast<std::uint32_t>(hash64(bytes)));
}

// Takes the seal off and gives its number; Error where it does not fit.
inline Result<std::uint32_t> open_control(std::vector<std::byte>& bytes) {
  const Error damaged(ErrorCode::transport, "control message", "is damaged");
  if (bytes.size() < control_seal_bytes) return damaged;
  const std::size_t sealed = bytes.size() - 4;
  ByteReader reader(std::span<const std::byte>(bytes).subspan(sealed - 4));
  const auto number = reader.read<std::uint32_t>();
  if (reader.read<std::uint32_t>() != static_cast<std::uint32_t>(hash64(std::span(bytes).first(sealed)))) return damaged;
  bytes.resize(bytes.size() - control_seal_bytes);
  return number;
}

struct DataSeal {
  std::int64_t departed_ns = 0;
  std::uint32_t number = 0;
};

inline void seal_data(std::vector<std::byte>& bytes, const DataSeal& seal) {
  const std::size_t content = bytes.size();
  ByteWriter writer(bytes);
  writer.write(seal.departed_ns);
  writer.write(seal.number);
  writer.write(static_cast<std::uint32_t>(hash64(std::span(bytes).subspan(content))));
}

// Takes the seal off; Error where it does not fit. Too short a message is left empty.
inline Result<DataSeal> open_data(std::vector<std::byte>& bytes) {
  const Error damaged(ErrorCode::transport, "data message", "has a damaged seal");
  if (bytes.size() < data_seal_bytes) {
    bytes.clear();
    return damaged;
  }
  const auto sealed = std::span<const std::byte>(bytes).last(data_seal_bytes);
  ByteReader reader(sealed);
  DataSeal seal;
  seal.departed_ns = reader.read<std::int64_t>();
  seal.number = reader.read<std::uint32_t>();
  const bool fits = reader.read<std::uint32_t>() == static_cast<std::uint32_t>(hash64(sealed.first(data_seal_bytes - 4)));
  bytes.resize(bytes.size() - data_seal_bytes);
  if (!fits) return damaged;
  return seal;
}

}  // namespace lynxkv::comm
