#include "results/journal.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/log.hpp"
#include "results/journal_format.hpp"
#include "results/row_codec.hpp"
#include "tests/results/rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;
using testing::sample_row;

JournalHeader header(std::uint64_t hash = 77, const std::string& config = R"({"transfer":{"alpha":0.05}})") {
  JournalHeader made;
  made.result_config = config;
  made.settings_hash = hash;
  made.attempt_json = R"({"roles":"1+1"})";
  return made;
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// What the Error of an opening says, and its code; empty where it opens.
std::string refusal(const std::string& folder, const JournalHeader& with, ErrorCode code) {
  try {
    Journal journal(folder, with, 5);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
}

TEST(Journal, KeepsRowsInOrderAndCountsAttempts) {
  TemporaryFolder folder;
  const std::string output = folder.file("a/b");
  for (int attempt = 0; attempt < 2; ++attempt) {
    Journal journal(output, header(), 5);
    EXPECT_EQ(journal.before().rows.size(), static_cast<std::size_t>(2 * attempt));
    journal.append(sample_row(2 * attempt + 1));
    journal.append(sample_row(2 * attempt));
    journal.sync(true);
  }
  const auto contents = read_journal(output + "/journal.lkj").take();
  ASSERT_EQ(contents.rows.size(), 4u);
  EXPECT_EQ(contents.rows[0], sample_row(1));
  EXPECT_EQ(contents.rows[3], sample_row(2));
  EXPECT_EQ(contents.attempts, std::vector<std::string>(2, R"({"roles":"1+1"})"));
  EXPECT_EQ(contents.header.settings_hash, 77u);
  EXPECT_EQ(contents.torn_bytes, 0u);
}

TEST(Journal, CountsASampleOnceHoweverOftenItWasWritten) {
  TemporaryFolder folder;
  {
    Journal journal(folder.path(), header(), 5);
    Row again = sample_row(1);
    journal.append(again);
    again.score = 1;
    journal.append(again);
    journal.append(sample_row(1, "bf16"));  // another mode is another key
  }
  const auto contents = read_journal(folder.file("journal.lkj")).take();
  ASSERT_EQ(contents.rows.size(), 2u);
  EXPECT_EQ(contents.rows[0].score, 0.5);
  EXPECT_EQ(contents.duplicate_rows, 1u);
}

TEST(Journal, CutAtEveryByteKeepsEveryRowBeforeTheCutAndGoesOn) {
  TemporaryFolder folder;
  std::vector<std::size_t> ends;  // of the header and of each row
  {
    Journal journal(folder.path(), header(), 0);
    ends.push_back(slurp(folder.file("journal.lkj")).size());
    for (int line = 0; line < 2; ++line) {
      journal.append(sample_row(line));
      ends.push_back(slurp(folder.file("journal.lkj")).size());
    }
  }
  const std::string whole = slurp(folder.file("journal.lkj"));
  log::configure(log::Level::error, "");  // hundreds of warnings that are meant
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    TemporaryFolder other;
    spill(other.file("journal.lkj"), whole.substr(0, cut));
    std::size_t rows = 0;
    for (std::size_t i = 1; i < ends.size(); ++i) rows += ends[i] <= cut ? 1u : 0u;
    ASSERT_EQ(read_journal(other.file("journal.lkj")).take().rows.size(), rows) << cut;
    const bool near_a_border = std::any_of(ends.begin(), ends.end(),
                                           [&](std::size_t end) { return cut + 9 > end && cut < end + 9; });
    if (cut > 16 && cut % 61 != 0 && !near_a_border)
      continue;  // opening syncs to the disk, which takes its time
    {
      Journal journal(other.path(), header(), 1e9);
      ASSERT_EQ(journal.before().rows.size(), rows) << cut;
      journal.append(sample_row(9));
    }
    const auto contents = read_journal(other.file("journal.lkj")).take();
    ASSERT_EQ(contents.rows.size(), rows + 1) << cut;
    ASSERT_EQ(contents.torn_bytes, 0u) << cut;
    ASSERT_EQ(contents.damaged_bytes, 0u) << cut;
  }
  log::configure(log::Level::warning, "");
}

TEST(Journal, AFlippedBitAnywhereCostsAtMostTheRecordThatItIsIn) {
  TemporaryFolder folder;
  {
    Journal journal(folder.path(), header(), 5);
    for (int line = 0; line < 3; ++line) journal.append(sample_row(line));
  }
  const std::string whole = slurp(folder.file("journal.lkj"));
  const std::string path = folder.file("flipped.lkj");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    spill(path, bytes);
    const auto contents = read_journal(path);
    if (at < journal_magic_bytes) {
      ASSERT_FALSE(contents.ok()) << at;
      continue;
    }
    ASSERT_TRUE(contents.ok()) << at << contents.error().what();
    const auto& seen = contents.value();
    ASSERT_EQ(seen.rows.size() + seen.attempts.size(), 3u) << at;
    ASSERT_GT(seen.damaged_bytes + seen.torn_bytes, 0u) << at;
    for (const Row& row : seen.rows) ASSERT_EQ(row, sample_row(row.key.line)) << at;
  }
}

TEST(Journal, RefusesOtherSettingsAndPrintsWhichKeysDiffer) {
  TemporaryFolder folder;
  {
    Journal journal(folder.path(), header(), 5);
    journal.append(sample_row(1));
  }
  const std::string text = refusal(
      folder.path(), header(78, R"({"transfer":{"alpha":0.1},"link":{"gbps":10}})"), ErrorCode::usage);
  EXPECT_NE(text.find("transfer.alpha was 0.05, is 0.1"), std::string::npos) << text;
  EXPECT_NE(text.find("link.gbps was unset, is 10"), std::string::npos) << text;
  const std::string same = refusal(folder.path(), header(79), ErrorCode::usage);
  EXPECT_NE(same.find("the model, tokenizer or data changed"), std::string::npos) << same;
  EXPECT_EQ(refusal(folder.path(), header(), ErrorCode::usage), "");
}

TEST(Journal, WithoutASampleBindsNobodyToItsSettings) {
  TemporaryFolder folder;
  { Journal journal(folder.path(), header(), 5); }
  {
    Journal journal(folder.path(), header(78, R"({"transfer":{"alpha":0.1}})"), 5);
    EXPECT_TRUE(journal.before().attempts.empty());
    journal.append(sample_row(1));
  }
  const auto contents = read_journal(folder.file("journal.lkj")).take();
  EXPECT_EQ(contents.header.settings_hash, 78u);
  EXPECT_EQ(contents.rows.size(), 1u);
  EXPECT_NE(refusal(folder.path(), header(), ErrorCode::usage), "");
}

TEST(Journal, RefusesOtherSettingsEvenWhereItsFirstRecordIsDamaged) {
  TemporaryFolder folder;
  {
    Journal journal(folder.path(), header(), 5);
    journal.append(sample_row(1));
  }
  std::string bytes = slurp(folder.file("journal.lkj"));
  bytes[journal_magic_bytes + record_prefix_bytes + 20] ^= 1;
  spill(folder.file("journal.lkj"), bytes);
  EXPECT_NE(refusal(folder.path(), header(78), ErrorCode::usage), "");
  EXPECT_EQ(refusal(folder.path(), header(), ErrorCode::usage), "");
}

TEST(Journal, RefusesFilesThatAreNoJournal) {
  TemporaryFolder folder;
  spill(folder.file("journal.lkj"), "col1,col2\n1,2\n");
  const std::string text = refusal(folder.path(), header(), ErrorCode::bad_data);
  EXPECT_NE(text.find("journal.lkj"), std::string::npos) << text;
  EXPECT_NE(text.find("no journal of ours"), std::string::npos) << text;
  EXPECT_EQ(slurp(folder.file("journal.lkj")), "col1,col2\n1,2\n");
  EXPECT_FALSE(read_journal(folder.file("absent")).ok());
  EXPECT_FALSE(read_journal(folder.path()).ok());
}

TEST(Journal, RefusesARecordOfAnotherVersionRatherThanSkippingIt) {
  TemporaryFolder folder;
  std::vector<std::byte> bytes;
  append_magic(bytes);
  append_record(bytes, std::as_bytes(std::span("\xa1\x63row\x01", 6)));
  spill(folder.file("journal.lkj"), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const auto contents = read_journal(folder.file("journal.lkj"));
  ASSERT_FALSE(contents.ok());
  EXPECT_NE(std::string(contents.error().what()).find("record at byte 8"), std::string::npos)
      << contents.error().what();
  JournalHeader newer = header();
  newer.schema_version = 2;
  TemporaryFolder other;
  { Journal journal(other.path(), newer, 5); }
  EXPECT_NE(refusal(other.path(), header(), ErrorCode::bad_data).find("found 2"), std::string::npos);
}

TEST(Journal, OfTheFirstVersionIsStillRead) {
  const auto contents = read_journal(LYNXKV_TEST_DATA "/results/journal.lkj").take();
  ASSERT_EQ(contents.rows.size(), 6u);
  Row expected = sample_row(1, "lynx");
  expected.retries = 0;
  expected.t_kv_unix_s = 0;  // a later version's
  EXPECT_EQ(contents.rows[5], expected);
  EXPECT_EQ(contents.header.settings_hash, 77u);
}

TEST(Journal, IsOpenForOneWriterAtATimeAndNamesTheOther) {
  TemporaryFolder folder;
  ::setenv("SLURM_JOB_ID", "4711", 1);
  {
    Journal journal(folder.path(), header(), 5);
    ::unsetenv("SLURM_JOB_ID");
    const std::string text = refusal(folder.path(), header(), ErrorCode::usage);
    EXPECT_NE(text.find("in use by job 4711 on host "), std::string::npos) << text;
    EXPECT_TRUE(read_journal(folder.file("journal.lkj")).ok());
  }
  EXPECT_EQ(refusal(folder.path(), header(), ErrorCode::usage), "");
}

TEST(Journal, SaysThatAFolderCannotBeWritten) {
  TemporaryFolder folder;
  spill(folder.file("plain"), "x");
  EXPECT_NE(refusal(folder.file("plain"), header(), ErrorCode::usage).find("cannot be written to"),
            std::string::npos);
  EXPECT_NE(refusal(folder.file("plain/below"), header(), ErrorCode::usage).find("cannot be written to"),
            std::string::npos);
  EXPECT_NE(refusal("/proc/lynxkv", header(), ErrorCode::usage), "");
  if (::geteuid() == 0) return;  // root may write everywhere
  std::filesystem::create_directory(folder.file("shut"));
  ::chmod(folder.file("shut").c_str(), 0500);
  EXPECT_NE(refusal(folder.file("shut"), header(), ErrorCode::usage).find("cannot be written to"),
            std::string::npos);
}

}  // namespace
}  // namespace lynxkv::results
