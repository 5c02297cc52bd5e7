#include "page/wire.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/hash.hpp"

namespace lynxkv::page {
namespace {

constexpr std::array<std::byte, 4> magic = {std::byte{'L'}, std::byte{'K'}, std::byte{'V'}, std::byte{'P'}};
constexpr std::size_t checksum_offset = 72;
constexpr std::uint8_t flag_raw = 1;
constexpr std::uint8_t flag_last = 2;
constexpr std::uint8_t known_flags = flag_raw | flag_last;

Error refuse(std::string what) { return Error(ErrorCode::transport, "frame header", what); }

// Values that no sender of this version makes, whatever the request.
std::string out_of_range(const WireHeader& h, std::uint8_t kind, std::uint8_t flags) {
  if (h.stream >= wire_streams) return fmt::format("stream {} is none of 0, 1, 2", h.stream);
  if (kind > 1) return fmt::format("kind {} is neither 0 (key) nor 1 (value)", kind);
  if ((flags & ~known_flags) != 0) return fmt::format("flags {:#04x} have unknown bits", flags);
  if (h.sigma > 1) return fmt::format("sigma mode {} is neither 0 nor 1", h.sigma);
  if (!std::isfinite(h.alpha) || h.alpha <= 0) return fmt::format("alpha {} is not a number above 0", h.alpha);
  if (h.page_tokens == 0 || h.tokens == 0 || h.tokens > h.page_tokens)
    return fmt::format("{} tokens do not fit a page of {}", h.tokens, h.page_tokens);
  if (h.chunk_tokens == 0 || h.chunk_tokens > h.page_tokens)
    return fmt::format("chunks of {} tokens do not fit a page of {}", h.chunk_tokens, h.page_tokens);
  if (h.head_dim == 0 || h.channels == 0 || h.channels % h.head_dim != 0)
    return fmt::format("{} channels are no multiple of the head dimension {}", h.channels, h.head_dim);
  if (h.fragment_offset > h.payload_bytes || h.fragment_bytes > h.payload_bytes - h.fragment_offset)
    return fmt::format("fragment {}+{} lies outside its payload of {} bytes", h.fragment_offset,
                       h.fragment_bytes, h.payload_bytes);
  if (h.fragment_bytes == 0 && h.payload_bytes != 0) return "an empty fragment of a payload that is not empty";
  return {};
}

}  // namespace

std::uint16_t wire_codec(std::string_view codec_name) noexcept {
  return static_cast<std::uint16_t>(hash64(codec_name));
}

void append_frame(const WireHeader& h, std::span<const std::byte> fragment, std::vector<std::byte>& out) {
  LYNXKV_CHECK(h.fragment_bytes == fragment.size());
  const std::size_t start = out.size();
  out.reserve(start + wire_header_bytes + fragment.size());
  ByteWriter w(out);
  w.write_bytes(magic);
  w.write(wire_version);
  w.write(h.stream);
  w.write(h.codec);
  w.write(h.request);
  w.write(h.sequence);
  w.write(h.page);
  w.write(h.first_position);
  w.write(h.layer);
  w.write(h.tokens);
  w.write(h.channels);
  w.write(h.alpha);
  w.write(h.kind);
  w.write(static_cast<std::uint8_t>((h.raw ? flag_raw : 0) | (h.last ? flag_last : 0)));
  w.write(h.levels);
  w.write(h.sigma);
  w.write(h.sinks);
  w.write(h.attempt);
  w.write(h.chunk_tokens);
  w.write(h.head_dim);
  w.write(h.page_tokens);
  w.write(h.generation);
  w.write(h.payload_bytes);
  w.write(h.fragment_offset);
  w.write(h.fragment_bytes);
  w.write(std::uint64_t{0});
  LYNXKV_CHECK(out.size() - start == wire_header_bytes);
  w.write_bytes(fragment);
  const std::uint64_t checksum = hash64(std::span<const std::byte>(out).subspan(start));
  std::memcpy(out.data() + start + checksum_offset, &checksum, sizeof checksum);
}

Result<WireHeader> parse_header(std::span<const std::byte> bytes) {
  if (bytes.size() < wire_header_bytes)
    return refuse(fmt::format("{} bytes left, a header has {}", bytes.size(), wire_header_bytes));
  ByteReader r(bytes);
  WireHeader h;
  const auto front = r.take(magic.size());
  if (std::memcmp(front.data(), magic.data(), magic.size()) != 0) return refuse("does not begin with 'LKVP'");
  if (const auto version = r.read<std::uint8_t>(); version != wire_version)
    return refuse(fmt::format("version {}, this build reads {}: run one build on all ranks", version, wire_version));
  h.stream = r.read<std::uint8_t>();
  h.codec = r.read<std::uint16_t>();
  h.request = r.read<std::uint64_t>();
  h.sequence = r.read<std::uint64_t>();
  h.page = r.read<std::uint32_t>();
  h.first_position = r.read<std::uint32_t>();
  h.layer = r.read<std::uint16_t>();
  h.tokens = r.read<std::uint16_t>();
  h.channels = r.read<std::uint32_t>();
  h.alpha = r.read<float>();
  const auto kind = r.read<std::uint8_t>();
  const auto flags = r.read<std::uint8_t>();
  h.kind = static_cast<Kind>(kind & 1);
  h.raw = (flags & flag_raw) != 0;
  h.last = (flags & flag_last) != 0;
  h.levels = r.read<std::uint8_t>();
  h.sigma = r.read<std::uint8_t>();
  h.sinks = r.read<std::uint8_t>();
  h.attempt = r.read<std::uint8_t>();
  h.chunk_tokens = r.read<std::uint16_t>();
  h.head_dim = r.read<std::uint16_t>();
  h.page_tokens = r.read<std::uint16_t>();
  h.generation = r.read<std::uint32_t>();
  h.payload_bytes = r.read<std::uint32_t>();
  h.fragment_offset = r.read<std::uint32_t>();
  h.fragment_bytes = r.read<std::uint32_t>();
  h.checksum = r.read<std::uint64_t>();
  LYNXKV_CHECK(r.ok());
  if (std::string fault = out_of_range(h, kind, flags); !fault.empty()) return refuse(std::move(fault));
  if (h.fragment_bytes > r.left())
    return refuse(fmt::format("a fragment of {} bytes, only {} follow", h.fragment_bytes, r.left()));
  return h;
}

bool checksum_holds(const WireHeader& header, std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < wire_header_bytes || bytes.size() - wire_header_bytes < header.fragment_bytes) return false;
  constexpr std::array<std::byte, wire_header_bytes - checksum_offset> zeros{};
  Hash64 hash;
  hash.add(bytes.first(checksum_offset));
  hash.add(zeros);
  hash.add(bytes.subspan(wire_header_bytes, header.fragment_bytes));
  return hash.digest() == header.checksum;
}

}  // namespace lynxkv::page
