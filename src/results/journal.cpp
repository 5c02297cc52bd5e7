#include "results/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "results/cbor.hpp"
#include "results/journal_format.hpp"
#include "results/journal_lock.hpp"
#include "results/posix_file.hpp"
#include "results/row_codec.hpp"
#include "results/settings_difference.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;

constexpr int schema_version = 1;

std::vector<std::byte> encode_header(const JournalHeader& header) {
  return to_cbor(json{{"header",
                       {{"schema_version", header.schema_version},
                        {"result_config", header.result_config},
                        {"settings_hash", header.settings_hash},
                        {"attempt", header.attempt_json}}}});
}

Result<JournalHeader> decode_header(std::span<const std::byte> payload) {
  auto item = from_cbor(payload);
  if (!item) return item.error();
  try {
    const json& fields = item.value().at("header");
    JournalHeader header;
    header.schema_version = fields.at("schema_version").get<int>();
    if (header.schema_version != schema_version)
      return Error(ErrorCode::bad_data, "header",
                   "expected schema version " + std::to_string(schema_version) + ", found " +
                       std::to_string(header.schema_version) + "; use the version that wrote it");
    header.result_config = fields.at("result_config").get<std::string>();
    header.settings_hash = fields.at("settings_hash").get<std::uint64_t>();
    header.attempt_json = fields.at("attempt").get<std::string>();
    return header;
  } catch (const json::exception&) {
    return Error(ErrorCode::bad_data, "header", "a field is missing or of another type");
  }
}

bool is_header(std::span<const std::byte> payload) {
  return payload.size() > 1 && payload[1] == std::byte{0x66};
}

Error at_byte(const Error& error, const std::string& path, std::size_t byte) {
  return Error(error.code(), path, "record at byte " + std::to_string(byte) + ": " + error.what());
}

// `scan` views into `file`; path is for messages.
Result<JournalContents> read_records(const JournalScan& scan, std::span<const std::byte> file,
                                     const std::string& path) {
  JournalContents contents;
  contents.torn_bytes = scan.torn_bytes;
  contents.damaged_bytes = scan.damaged_bytes;
  std::set<RowKey> done;
  for (const auto payload : scan.payloads) {
    const auto byte = static_cast<std::size_t>(payload.data() - file.data()) - record_prefix_bytes;
    if (is_header(payload)) {
      auto header = decode_header(payload);
      if (!header) return at_byte(header.error(), path, byte);
      contents.attempts.push_back(header.value().attempt_json);
      if (contents.attempts.size() == 1) contents.header = std::move(header).take();
      continue;
    }
    auto row = decode_row(payload);
    if (!row) return at_byte(row.error(), path, byte);
    if (done.insert(row.value().key).second)
      contents.rows.push_back(std::move(row).take());
    else
      ++contents.duplicate_rows;
  }
  return contents;
}

void refuse_other_settings(const JournalContents& before, const JournalHeader& header,
                           const std::string& directory) {
  const bool headless =
      before.attempts.empty();  // new, or its first record is damaged: then the rows' keys tell
  if (headless && before.rows.empty()) return;
  const std::uint64_t hash = headless ? before.rows.front().key.settings_hash : before.header.settings_hash;
  if (hash == header.settings_hash) return;
  std::string difference =
      headless ? "" : settings_difference(before.header.result_config, header.result_config);
  if (difference.empty()) difference = "the model, tokenizer or data changed";
  throw Error(
      ErrorCode::usage, directory,
      "holds results of other settings: " + difference + "; choose another output.dir or restore them");
}

void report(const JournalContents& before, const std::string& path) {
  if (before.torn_bytes > 0)
    log::warning("{}: dropped {} bytes of an unfinished record at its end; that sample is done again", path,
                 before.torn_bytes);
  if (before.damaged_bytes > 0)
    log::warning(
        "{}: stepped over {} damaged bytes between whole records (check the disk); those samples are done "
        "again",
        path, before.damaged_bytes);
  if (before.duplicate_rows > 0)
    log::warning("{}: {} rows were there twice and count once", path, before.duplicate_rows);
}

}  // namespace

Result<JournalContents> parse_journal(std::span<const std::byte> file, const std::string& name) {
  auto scan = scan_journal(file);
  if (!scan) return Error(scan.error().code(), name, scan.error().what());
  return read_records(scan.value(), file, name);
}

Result<JournalContents> read_journal(const std::string& path) {
  auto file = read_whole_file(path);
  if (!file) return file.error();
  return parse_journal(file.value(), path);
}

struct Journal::State {
  State(const std::string& directory, double interval)
      : lock(directory), path(directory + "/" + journal_file_name), fsync_seconds(interval) {}

  JournalLock lock;
  std::string path;
  double fsync_seconds;
  Descriptor file;
  std::uint64_t size_bytes = 0;
  bool unsynced = false;
  std::int64_t synced_ns = now_ns();
  JournalContents before;

  void open(const JournalHeader& header, const std::string& directory);
  void write(std::span<const std::byte> payload);
};

void Journal::State::open(const JournalHeader& header, const std::string& directory) {
  file.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file)
    throw Error(errno == ENOSPC || errno == EDQUOT ? ErrorCode::incomplete : ErrorCode::usage, path,
                "cannot be opened for writing: " + system_text(errno));
  const auto bytes = read_whole_file(path).take();
  auto scan = scan_journal(bytes);
  if (!scan)
    throw Error(ErrorCode::bad_data, path,
                scan.error().what() + std::string("; move it away or choose another output.dir"));
  before = read_records(scan.value(), bytes, path).take();
  size_bytes = scan.value().whole_bytes;
  const bool holds_nothing = before.rows.empty() && before.torn_bytes == 0 && before.damaged_bytes == 0;
  if (holds_nothing && !before.attempts.empty() && before.header.settings_hash != header.settings_hash) {
    // Attempts that ended before their first sample bind nobody to their settings.
    if (::ftruncate(file.get(), 0) != 0)
      throw Error(ErrorCode::incomplete, path, "could not be begun anew: " + system_text(errno));
    before = {};
    size_bytes = 0;
  }
  refuse_other_settings(before, header, directory);
  report(before, path);
  if (before.torn_bytes > 0 && ::ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0)
    throw Error(ErrorCode::incomplete, path, "its torn tail could not be cut off: " + system_text(errno));
  if (size_bytes == 0) {
    std::vector<std::byte> magic;
    append_magic(magic);
    write_all(file.get(), magic, path);
    size_bytes = magic.size();
  }
  write(encode_header(header));
  sync_file(file.get(), path);
  sync_folder(directory);
  unsynced = false;
}

void Journal::State::write(std::span<const std::byte> payload) {
  if (payload.size() > max_record_bytes)
    throw Error(ErrorCode::bad_data, path,
                "a record of " + std::to_string(payload.size()) + " bytes is longer than the limit of " +
                    std::to_string(max_record_bytes));
  std::vector<std::byte> record;
  append_record(record, payload);
  unsynced = true;
  try {
    write_all(file.get(), record, path);
  } catch (const Error&) {
    // Half a record would hide those that come after it; if it cannot be cut off, the next opening does so.
    if (::ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0)
      log::debug("{}: an unfinished record stays", path);
    throw;
  }
  size_bytes += record.size();
}

Journal::Journal(const std::string& directory, const JournalHeader& header, double fsync_seconds) {
  make_folder(directory);
  state_ = std::make_unique<State>(directory, fsync_seconds);
  state_->open(header, directory);
}

Journal::~Journal() {
  try {
    sync(true);
  } catch (const Error& error) {
    log::error("{}", error.what());
  }
}

const JournalContents& Journal::before() const noexcept {
  return state_->before;
}

void Journal::append(const Row& row) {
  state_->write(encode_row(row));
}

void Journal::sync(bool now) {
  if (!state_->unsynced) return;
  if (!now && seconds_between(state_->synced_ns, now_ns()) < state_->fsync_seconds) return;
  sync_file(state_->file.get(), state_->path);
  state_->synced_ns = now_ns();
  state_->unsynced = false;
}

}  // namespace lynxkv::results
