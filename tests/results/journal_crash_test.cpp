// The journal when the machine does not cooperate: full disks and killed writers.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "results/journal.hpp"
#include "tests/results/rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;
using testing::sample_row;

JournalHeader header() {
  JournalHeader made;
  made.result_config = "{}";
  made.settings_hash = 77;
  made.attempt_json = "{}";
  return made;
}

// Runs `body` in a child whose files may grow to `bytes`; gives its exit status.
template <class Body>
int with_small_disk(rlim_t bytes, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);  // so that write() fails as it does on a full disk
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(JournalOnAFullDisk, KeepsWhatFittedAndSaysThatTheRunIsIncomplete) {
  TemporaryFolder folder;
  const int rows_written = with_small_disk(6000, [&] {
    Journal journal(folder.path(), header(), 5);
    for (int line = 0; line < 100; ++line) {
      try {
        journal.append(sample_row(line));
      } catch (const Error& error) {
        const bool says_so = error.code() == ErrorCode::incomplete &&
                             std::string(error.what()).find("free some space") != std::string::npos;
        return says_so ? line : 200;
      }
    }
    return 201;
  });
  ASSERT_GT(rows_written, 0);
  ASSERT_LT(rows_written, 100);
  Journal journal(folder.path(), header(), 5);
  EXPECT_EQ(journal.before().rows.size(), static_cast<std::size_t>(rows_written));
  EXPECT_EQ(journal.before().torn_bytes, 0u);  // the half record was cut off again
}

TEST(JournalOnAFullDisk, SaysSoWhenNotEvenTheFirstRecordFits) {
  for (const rlim_t bytes : {0, 4, 20}) {
    TemporaryFolder folder;
    const int status = with_small_disk(bytes, [&] {
      try {
        Journal journal(folder.path(), header(), 5);
      } catch (const Error& error) {
        return exit_code(error.code());
      }
      return 0;
    });
    EXPECT_EQ(status, 75) << bytes;
    Journal journal(folder.path(), header(), 5);
    EXPECT_TRUE(journal.before().rows.empty());
  }
}

// The child tells the parent each row that it has synced; the parent kills it at some moment.
TEST(JournalOfAKilledWriter, HasEveryRowThatWasReportedDoneOnceAndIsNotLocked) {
  TemporaryFolder folder;
  std::int64_t reported = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Journal journal(folder.path(), header(), 0);
      for (auto line = static_cast<std::int64_t>(journal.before().rows.size());; ++line) {
        journal.append(sample_row(line));
        journal.sync(false);
        if (::write(pipe_ends[1], &line, sizeof line) != sizeof line) ::_exit(1);
      }
    }
    ::close(pipe_ends[1]);
    // After so many reports, then at any moment of the next append: also on a machine that is slow.
    std::int64_t line = 0;
    for (int heard = 0; heard < 1 + round % 4; ++heard)
      if (::read(pipe_ends[0], &line, sizeof line) == sizeof line) reported = std::max(reported, line + 1);
    std::this_thread::sleep_for(std::chrono::microseconds(137 * round));
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &line, sizeof line) == sizeof line) reported = std::max(reported, line + 1);
    ::close(pipe_ends[0]);
    ::waitpid(child, nullptr, 0);
    Journal journal(folder.path(), header(), 5);
    const auto& rows = journal.before().rows;
    ASSERT_GE(static_cast<std::int64_t>(rows.size()), reported);
    ASSERT_EQ(journal.before().duplicate_rows, 0u);
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].key.line, static_cast<std::int64_t>(i));
  }
  EXPECT_GT(reported, 0);
}

}  // namespace
}  // namespace lynxkv::results
