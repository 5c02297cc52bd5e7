// Hostile frames: any bytes as a message's content. A header that is taken survives being written and read again,
// and its fragment lies inside the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "comm/courier_frames.hpp"
#include "page/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv;
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  static_cast<void>(comm::parse_courier_frame(rest).ok());
  while (true) {
    const auto parsed = page::parse_header(rest);
    if (!parsed.ok()) return 0;
    const page::WireHeader header = parsed.value();
    if (header.fragment_bytes > rest.size() - page::wire_header_bytes) std::abort();
    std::vector<std::byte> again;
    page::append_frame(header, rest.subspan(page::wire_header_bytes, header.fragment_bytes), again);
    const auto reread = page::parse_header(again);
    if (!reread.ok() || !page::checksum_holds(reread.value(), again)) std::abort();
    page::WireHeader same = reread.value();
    // Of a damaged frame only the checksum may differ.
    if (page::checksum_holds(header, rest) != (same.checksum == header.checksum)) std::abort();
    same.checksum = header.checksum;
    if (!(same == header)) std::abort();
    rest = rest.subspan(page::wire_header_bytes + header.fragment_bytes);
  }
}
