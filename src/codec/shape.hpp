// Checks that every codec makes before it touches a page tensor or a payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "codec/codec.hpp"

namespace lynxkv::codec {

constexpr int most_page_tokens = 256;
constexpr int most_channels = 1 << 20;

// Error{bad_data} naming the field that is out of range.
Result<void> check_shape(const TensorShape& shape);

// Error{bad_data} naming the stream, the size expected and the size found.
Result<void> check_payload(StreamId stream, std::span<const std::byte> payload, std::size_t expected);

// Error{bad_data} naming token and channel of the first NaN or infinity, which must exist.
Error not_finite(const Bf16* rows, const TensorShape& shape);

// Error{usage}: this codec has no such level.
Error no_such_level(std::string_view codec, Level level);

// Error{bad_data}: a scale of the payload is a NaN or an infinity, which no encoder writes.
Error bad_scalars();

std::string_view name_of(StreamId stream) noexcept;
std::string_view name_of(Level level) noexcept;

// bf16[tokens][channels] as it stands: the payload of `bf16`, and of any codec's page that travels raw.
std::size_t raw_bytes(const TensorShape& shape) noexcept;
void encode_raw(const Bf16* rows, const TensorShape& shape, Encoded& out);
Result<void> decode_raw(const Payloads& in, const TensorShape& shape, Bf16* rows);

}  // namespace lynxkv::codec
