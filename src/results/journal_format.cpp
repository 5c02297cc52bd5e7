#include "results/journal_format.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "results/crc32c.hpp"

namespace lynxkv::results {
namespace {

constexpr char magic[journal_magic_bytes + 1] = "LYNXKVJ1";

std::span<const std::byte> magic_span() {
  return std::as_bytes(std::span(magic, journal_magic_bytes));
}

// The payload of a whole record at `at`; empty where there is none.
std::span<const std::byte> record_at(std::span<const std::byte> file, std::size_t at) {
  ByteReader reader(file.subspan(at));
  const auto length = reader.read<std::uint32_t>();
  const auto checksum = reader.read<std::uint32_t>();
  if (length == 0 || length > max_record_bytes) return {};
  const auto payload = reader.take(length);
  if (!reader.ok() || crc32c(payload) != checksum) return {};
  return payload;
}

// How every payload begins: a map of one entry whose key is "row" or "header".
bool begins_like_a_payload(std::span<const std::byte> bytes) {
  const auto begins = [&](const char* text, std::size_t count) {
    return bytes.size() >= count && std::memcmp(bytes.data(), text, count) == 0;
  };
  return begins("\xa1\x63row", 5) || begins("\xa1\x66header", 8);
}

// Where the next whole record begins after a damaged one at `at`; the file's end where there is none.
// `budget` bounds the bytes that are summed on the way, so that a hostile file cannot make this quadratic.
std::size_t next_record(std::span<const std::byte> file, std::size_t at, std::uint64_t& budget) {
  for (std::size_t next = at + 1; next + record_prefix_bytes < file.size(); ++next) {
    if (!begins_like_a_payload(file.subspan(next + record_prefix_bytes))) continue;
    std::uint32_t length;
    std::memcpy(&length, file.data() + next, sizeof length);
    const std::uint64_t cost = std::min<std::uint64_t>(length, file.size() - next) + 1;
    if (cost > budget) return file.size();
    budget -= cost;
    if (!record_at(file, next).empty()) return next;
  }
  return file.size();
}

}  // namespace

void append_magic(std::vector<std::byte>& out) {
  ByteWriter(out).write_bytes(magic_span());
}

void append_record(std::vector<std::byte>& out, std::span<const std::byte> payload) {
  LYNXKV_CHECK(!payload.empty() && payload.size() <= max_record_bytes);
  ByteWriter writer(out);
  writer.write(static_cast<std::uint32_t>(payload.size()));
  writer.write(crc32c(payload));
  writer.write_bytes(payload);
}

Result<JournalScan> scan_journal(std::span<const std::byte> file) {
  const std::size_t shared = std::min(file.size(), journal_magic_bytes);
  if (!std::equal(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(shared), magic_span().begin()))
    return Error(ErrorCode::bad_data, "journal",
                 "expected it to begin with LYNXKVJ1: this is no journal of ours");
  JournalScan scan;
  if (file.size() < journal_magic_bytes) {
    scan.torn_bytes = file.size();
    return scan;
  }
  std::size_t at = journal_magic_bytes;
  std::uint64_t budget = 8 * static_cast<std::uint64_t>(file.size());
  scan.whole_bytes = at;
  while (at < file.size()) {
    const auto payload = record_at(file, at);
    if (payload.empty()) {
      at = next_record(file, at, budget);
      continue;
    }
    scan.damaged_bytes += at - scan.whole_bytes;
    scan.payloads.push_back(payload);
    at += record_prefix_bytes + payload.size();
    scan.whole_bytes = at;
  }
  scan.torn_bytes = file.size() - scan.whole_bytes;
  return scan;
}

}  // namespace lynxkv::results
