#include "codec/shape.hpp"

#include <cstring>
#include <string>

#include "base/check.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::codec {
namespace {

Error wrong(const char* field, int found, const std::string& expected) {
  return Error(ErrorCode::bad_data, "page tensor",
               std::string(field) + " is " + std::to_string(found) + "; expected " + expected);
}

}  // namespace

Result<void> check_shape(const TensorShape& shape) {
  const std::string most = std::to_string(most_page_tokens);
  if (shape.tokens < 1 || shape.tokens > most_page_tokens) return wrong("tokens", shape.tokens, "1 to " + most);
  if (shape.channels < 2 || shape.channels > most_channels || shape.channels % 2 != 0)
    return wrong("channels", shape.channels, "an even number from 2 to " + std::to_string(most_channels));
  if (shape.head_dim < 1 || shape.channels % shape.head_dim != 0)
    return wrong("head_dim", shape.head_dim, "a divisor of " + std::to_string(shape.channels) + " channels");
  if (shape.chunk_tokens < 1 || shape.chunk_tokens > most_page_tokens)
    return wrong("chunk_tokens", shape.chunk_tokens, "1 to " + most);
  if (shape.first_position < 0) return wrong("first_position", shape.first_position, "0 or more");
  if (shape.layer < 0) return wrong("layer", shape.layer, "0 or more");
  if (shape.layers < 0) return wrong("layers", shape.layers, "0 or more");
  return {};
}

Result<void> check_payload(StreamId stream, std::span<const std::byte> payload, std::size_t expected) {
  if (payload.size() == expected) return {};
  return Error(ErrorCode::bad_data, std::string(name_of(stream)) + " payload",
               "expected " + std::to_string(expected) + " bytes for this shape, found " + std::to_string(payload.size()));
}

Error not_finite(const Bf16* rows, const TensorShape& shape) {
  for (int token = 0; token < shape.tokens; ++token)
    for (int channel = 0; channel < shape.channels; ++channel) {
      const Bf16 x = rows[static_cast<std::size_t>(token) * static_cast<std::size_t>(shape.channels) +
                          static_cast<std::size_t>(channel)];
      if (is_finite(x)) continue;
      const bool infinite = (x.bits & 0x7fu) == 0;
      return Error(ErrorCode::bad_data, "page tensor",
                   "token " + std::to_string(token) + ", channel " + std::to_string(channel) + " is " +
                       (infinite ? "infinite" : "not a number") + "; KV values have to be finite");
    }
  LYNXKV_CHECK(false && "a value that is not finite was reported");
  return Error(ErrorCode::bad_data, "page tensor", "not finite");
}

Error no_such_level(std::string_view codec, Level level) {
  return Error(ErrorCode::usage, "codec " + std::string(codec),
               "it does not decode to level '" + std::string(name_of(level)) + "'");
}

Error bad_scalars() {
  return Error(ErrorCode::bad_data, "anchor payload",
               "a raw value or a scale is a NaN or an infinity; no encoder writes that: the payload is damaged");
}

std::string_view name_of(StreamId stream) noexcept {
  switch (stream) {
    case StreamId::anchor: return "anchor";
    case StreamId::residual: return "residual";
    case StreamId::exact: return "exact";
  }
  return "unknown";
}

std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::none: return "none";
    case Level::draft: return "draft";
    case Level::target: return "full";
    case Level::exact: return "exact";
  }
  return "unknown";
}

std::size_t raw_bytes(const TensorShape& shape) noexcept {
  return static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels) * sizeof(Bf16);
}

void encode_raw(const Bf16* rows, const TensorShape& shape, Encoded& out) {
  out.payload[0].resize(raw_bytes(shape));
  std::memcpy(out.payload[0].data(), rows, raw_bytes(shape));
  for (int i = 1; i < max_streams; ++i) out.payload[static_cast<std::size_t>(i)].clear();
}

Result<void> decode_raw(const Payloads& in, const TensorShape& shape, Bf16* rows) {
  const auto payload = in.payload[0];
  if (auto sized = check_payload(StreamId::anchor, payload, raw_bytes(shape)); !sized) return sized;
  const auto* values = reinterpret_cast<const Bf16*>(payload.data());
  if (kernels::page_outcome(values, payload.size() / sizeof(Bf16)) == kernels::PageOutcome::not_finite) return bad_scalars();
  std::memcpy(rows, payload.data(), payload.size());
  return {};
}

}  // namespace lynxkv::codec
