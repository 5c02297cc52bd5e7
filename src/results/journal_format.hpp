// Bytes of a journal file: the eight bytes "LYNXKVJ1", then records, one after another:
//   length u32 | CRC-32C u32 of the payload | payload: CBOR of {"row": ...} or {"header": ...};
//   little-endian.
// Length first, so that a reader can step over records; the checksum tells a whole record from a torn one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace lynxkv::results {

constexpr std::size_t journal_magic_bytes = 8;
constexpr std::size_t record_prefix_bytes = 8;
constexpr std::size_t max_record_bytes = std::size_t{16} << 20;

void append_magic(std::vector<std::byte>& out);
// `payload` is 1 .. max_record_bytes long.
void append_record(std::vector<std::byte>& out, std::span<const std::byte> payload);

struct JournalScan {
  std::vector<std::span<const std::byte>>
      payloads;                     // of the whole records, in order; views into the file's bytes
  std::uint64_t whole_bytes = 0;    // up to the end of the last whole record (or of the magic)
  std::uint64_t torn_bytes = 0;     // after that
  std::uint64_t damaged_bytes = 0;  // between whole records: a bad disk, not a crash
};

// A crash tears the tail only; records after a damaged one are looked for and kept. A file shorter than the
// magic that begins like it is all torn tail. Error{bad_data} where the file begins otherwise.
Result<JournalScan> scan_journal(std::span<const std::byte> file);

}  // namespace lynxkv::results
