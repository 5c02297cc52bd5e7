// The append-only journal: the durable truth of a campaign. One writer at a time holds an exclusive lock that
// names job and host (results/journal_lock.hpp); bytes as results/journal_format.hpp says.
// A record is done when it is on disk; a torn tail is dropped when the journal is opened, and reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "results/row.hpp"

namespace lynxkv::results {

// First record of a journal: what its rows were made with.
struct JournalHeader {
  int schema_version = 1;
  std::string result_config;  // effective config keys that change results, canonical JSON
  std::uint64_t settings_hash = 0;
  std::string attempt_json;  // placement, versions, hashes, Slurm ids, of this attempt
};

struct JournalContents {
  JournalHeader header;               // of the first attempt
  std::vector<std::string> attempts;  // attempt_json of every attempt, in order
  std::vector<Row> rows;              // first record of each key, in file order
  std::uint64_t duplicate_rows = 0;   // later records of a key that was already done
  std::uint64_t torn_bytes = 0;       // dropped from the tail: a writer was cut short
  std::uint64_t damaged_bytes = 0;  // records in the middle whose checksum is wrong; stepped over, done again
};

constexpr const char* journal_file_name = "journal.lkj";

// Reads without locking; a row that a running job is just appending counts as torn. Error{bad_data} where the
// file is no journal, or one of another version.
Result<JournalContents> read_journal(const std::string& path);

// The same from a file's bytes; `name` is for messages.
Result<JournalContents> parse_journal(std::span<const std::byte> file, const std::string& name);

class Journal {
 public:
  // Opens `directory`/journal.lkj for appending, creating both. Throws Error{usage} where the folder cannot
  // be written, belongs to a running job, or holds results of other settings (the difference is in the text);
  // Error{incomplete} where the disk is full, Error{bad_data} where the file there is no journal.
  Journal(const std::string& directory, const JournalHeader& header, double fsync_seconds);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // What was already there when it was opened.
  const JournalContents& before() const noexcept;
  // Appends; durable after the next sync. Throws Error{incomplete} where the disk is full; the file then ends
  // with the row before, and a later append may succeed. Not for several threads at once.
  void append(const Row& row);
  // fsync where fsync_seconds have gone by since the last one; `now` forces it. Throws Error{incomplete}.
  void sync(bool now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lynxkv::results
