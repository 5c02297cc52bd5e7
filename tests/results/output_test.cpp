#include "results/output.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "results/hdf5.hpp"
#include "results/journal.hpp"
#include "tests/results/rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;
using testing::sample_row;

void write_journal(const std::string& folder, int rows) {
  JournalHeader header;
  header.result_config = R"({"a": 1})";
  header.settings_hash = 77;
  header.attempt_json = R"({"git": "abc"})";
  Journal journal(folder, header, 5);
  for (int line = 0; line < rows; ++line) journal.append(sample_row(line));
}

std::string refusal(const std::string& path, ErrorCode code) {
  try {
    load_output(path);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
}

TEST(Output, OfAFolderIsTheJournalsRowsWithTheFilesConfig) {
  TemporaryFolder folder;
  write_journal(folder.path(), 3);
  Output output = load_output(folder.path());
  EXPECT_EQ(output.rows.size(), 3u);
  EXPECT_FALSE(output.complete.has_value());
  EXPECT_EQ(output.config, R"({"a": 1})");
  EXPECT_EQ(output.settings_hash, 77u);
  write_hdf5(folder.file("results.h5"), {sample_row(0)}, {true, "a: 1\n", R"({"git": "def"})"});
  output = load_output(folder.path());
  EXPECT_EQ(output.rows.size(), 3u);
  EXPECT_EQ(output.complete, true);
  EXPECT_EQ(output.config, "a: 1\n");
  std::filesystem::remove(folder.file("journal.lkj"));
  output = load_output(folder.path());
  EXPECT_EQ(output.rows.size(), 1u);
  EXPECT_EQ(output.settings_hash, 77u);
}

TEST(Output, OfAFileIsToldByItsFirstBytes) {
  TemporaryFolder folder;
  write_journal(folder.path(), 2);
  std::filesystem::rename(folder.file("journal.lkj"), folder.file("renamed"));
  EXPECT_EQ(load_output(folder.file("renamed")).rows.size(), 2u);
  write_hdf5(folder.file("renamed"), {sample_row(0)}, Hdf5Meta{});
  EXPECT_EQ(load_output(folder.file("renamed")).rows.size(), 1u);
}

TEST(Output, ADamagedResultsFileBesideAJournalDoesNotMatter) {
  TemporaryFolder folder;
  write_journal(folder.path(), 2);
  std::ofstream(folder.file("results.h5")) << "broken";
  EXPECT_EQ(load_output(folder.path()).rows.size(), 2u);
  std::filesystem::remove(folder.file("journal.lkj"));
  EXPECT_NE(refusal(folder.path(), ErrorCode::bad_data).find("results.h5"), std::string::npos);
}

TEST(Output, SaysWhatIsMissingOrForeign) {
  TemporaryFolder folder;
  EXPECT_NE(refusal(folder.path(), ErrorCode::bad_data).find("neither journal.lkj nor results.h5"),
            std::string::npos);
  EXPECT_NE(refusal(folder.file("absent"), ErrorCode::bad_data).find("does not exist"), std::string::npos);
  std::ofstream(folder.file("foreign")) << "x";
  EXPECT_NE(refusal(folder.file("foreign"), ErrorCode::bad_data).find("is neither"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv::results
