// Hostile journals: any bytes as a file, as the payload of a record whose checksum is right, and as a row
// from a peer. Nothing may crash or hang, and a row that is taken must survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "results/journal.hpp"
#include "results/journal_format.hpp"
#include "results/row_codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv::results;
  const auto bytes = std::as_bytes(std::span(data, size));

  const auto as_file = parse_journal(bytes, "fuzz");
  if (as_file.ok() && as_file.value().rows.size() > size) std::abort();

  if (size > 0 && size <= max_record_bytes) {
    std::vector<std::byte> file;
    append_magic(file);
    append_record(file, bytes);
    append_record(file, encode_row(Row{}));
    const auto framed = parse_journal(file, "fuzz");
    if (framed.ok() && framed.value().damaged_bytes + framed.value().torn_bytes != 0) std::abort();
  }

  const auto row = decode_row(bytes);
  if (!row.ok()) return 0;
  const auto once = encode_row(row.value());
  const auto again = decode_row(once);
  // Bytes are compared, not rows: a NaN is not equal to itself.
  if (!again.ok() || encode_row(again.value()) != once) std::abort();
  return 0;
}
