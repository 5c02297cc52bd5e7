#include "results/hdf5.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "results/columns.hpp"
#include "tests/results/rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;
using testing::sample_row;

std::vector<Row> sorted_rows() {
  std::vector<Row> rows = {sample_row(0, "bf16"), sample_row(0, "lynx"), sample_row(3, "bf16")};
  rows[1].output_ids.clear();
  rows[1].commit_s.clear();
  rows[1].prediction.clear();
  rows[1].references.clear();
  rows[1].ttkt_s.clear();
  rows[1].all_accepted = true;
  rows[2].ttkt_s = {1, 2, 3, 4, 5, 6, 7};
  rows[2].key.settings_hash = ~std::uint64_t{0};
  return rows;
}
const Hdf5Meta meta = {true, "model: {path: a}\n",
                       R"({"git": "abc", "restarts": 2, "ok": true, "share": 0.5, "seeds": [1, 2]})"};

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Hdf5, GivesBackEveryRowSorted) {
  TemporaryFolder folder;
  const auto rows = sorted_rows();
  write_hdf5(folder.file("r.h5"), {rows[2], rows[1], rows[0]}, meta);
  EXPECT_EQ(read_hdf5(folder.file("r.h5")).take(), rows);
  const auto read = read_hdf5_meta(folder.file("r.h5")).take();
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(read.config_yaml, meta.config_yaml);
  EXPECT_EQ(read.facts_json, meta.facts_json);
  EXPECT_FALSE(std::filesystem::exists(folder.file("r.h5.tmp")));
}

// Runs a command; gives its exit status and what it printed.
std::pair<int, std::string> run(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}
const std::string source = LYNXKV_TEST_DATA "/../..";

TEST(Hdf5, IsReadByH5pyAndByTheShippedTenLines) {
  // Debian's h5py belongs to Debian's own Python, whatever other Python comes first.
  const std::string python =
      run("/usr/bin/python3 -c 'import h5py'").first == 0 ? "/usr/bin/python3" : "python3";
  if (run(python + " -c 'import h5py'").first != 0) GTEST_SKIP() << "no Python with h5py here";
  TemporaryFolder folder;
  write_hdf5(folder.file("r.h5"), sorted_rows(), meta);
  EXPECT_EQ(run(python + " " + source + "/tests/results/check_results_file.py " + folder.file("r.h5") + " 3"),
            std::pair(0, std::string()));
  const auto [status, output] = run(python + " " + source + "/apps/read_results.py " + folder.file("r.h5"));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(output,
            "bf16         niah_single         0.50    0.125 s\n"
            "lynx         niah_single         0.50    0.125 s\n"
            "bf16         niah_single         0.50    0.125 s\n");
}

TEST(Hdf5, IsDrawnByTheShippedScript) {
  if (run("/usr/bin/python3 -c 'import h5py, matplotlib'").first != 0)
    GTEST_SKIP() << "no Python with h5py and matplotlib here";
  TemporaryFolder folder;
  write_hdf5(folder.file("r.h5"), sorted_rows(), meta);
  const std::string plot = "/usr/bin/python3 " + source + "/apps/plot.py ";
  EXPECT_EQ(run(plot + folder.file("r.h5") + " " + folder.file("r.png")).first, 0);
  EXPECT_EQ(slurp(folder.file("r.png")).substr(1, 3), "PNG");
  const auto [status, output] = run(plot + folder.file("r.h5") + " " + folder.file("n.png") + " --task vt");
  EXPECT_EQ(status, 2);
  EXPECT_EQ(output, "plot: no rows of that task and length; the file holds: niah_single at 2048\n");
  EXPECT_EQ(run(plot + folder.file("r.png") + " " + folder.file("n.png")).first, 3);
  EXPECT_EQ(run(plot + folder.file("r.h5") + " " + folder.file("absent/n.png")).first, 2);
}

TEST(Hdf5, HoldsNoRowsAndManyRowsAndALongConfig) {
  TemporaryFolder folder;
  write_hdf5(folder.file("none.h5"), {}, Hdf5Meta{});
  EXPECT_TRUE(read_hdf5(folder.file("none.h5")).take().empty());
  EXPECT_FALSE(read_hdf5_meta(folder.file("none.h5")).take().complete);
  std::vector<Row> rows;
  for (int line = 0; line < 20000; ++line) rows.push_back(sample_row(line));
  Hdf5Meta long_meta = meta;
  long_meta.config_yaml = std::string(200000, 'x');
  write_hdf5(folder.file("many.h5"), rows, long_meta);
  EXPECT_EQ(read_hdf5(folder.file("many.h5")).take(), rows);
  EXPECT_EQ(read_hdf5_meta(folder.file("many.h5")).take().config_yaml, long_meta.config_yaml);
}

TEST(Hdf5, SurvivesDamageAnywhereInTheFile) {
  TemporaryFolder folder;
  write_hdf5(folder.file("r.h5"), sorted_rows(), meta);
  const std::string whole = slurp(folder.file("r.h5"));
  const std::string path = folder.file("damaged.h5");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < 8192 ? 3 : 101)
    for (const int flip : {0x80, 0x20}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      std::ofstream(path, std::ios::binary) << damaged;
      const bool read = static_cast<bool>(read_hdf5_meta(path)) && static_cast<bool>(read_hdf5(path));
      refused += read ? 0 : 1;
    }
  EXPECT_GT(refused, 100);
}

TEST(Hdf5, ReplacesAnOlderFileOnlyByAWholeOne) {
  TemporaryFolder folder;
  const std::string path = folder.file("r.h5");
  write_hdf5(path, sorted_rows(), meta);
  const std::string before = slurp(path);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20000, 20000};  // the disk is full after so much
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_hdf5(path, {}, meta);
    } catch (const Error& error) {
      ::_exit(exit_code(error.code()));
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_EQ(slurp(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(Hdf5, SaysThatAFolderCannotBeWritten) {
  TemporaryFolder folder;
  try {
    write_hdf5(folder.file("absent/r.h5"), {}, meta);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
  }
}

TEST(Hdf5, RefusesFilesThatAreNotOursOrNotWhole) {
  TemporaryFolder folder;
  const std::string path = folder.file("r.h5");
  EXPECT_FALSE(read_hdf5(path).ok());
  std::ofstream(path) << "";
  EXPECT_FALSE(read_hdf5(path).ok());
  std::ofstream(path)
      << "no HDF5 at all, just some text that is long enough to hold a superblock, whatever it says";
  ASSERT_FALSE(read_hdf5(path).ok());
  EXPECT_NE(std::string(read_hdf5(path).error().what()).find("r.h5: HDF5: opening failed"), std::string::npos)
      << read_hdf5(path).error().what();
  write_hdf5(path, sorted_rows(), meta);
  const std::string whole = slurp(path);
  for (const std::size_t cut : {whole.size() / 10, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, cut);
    EXPECT_FALSE(read_hdf5(path).ok()) << cut;
  }
}

std::string refusal(const std::vector<Column>& columns) {
  const auto rows = rows_of(columns);
  return rows.ok() ? "taken" : rows.error().what();
}
Column& column(std::vector<Column>& columns, const std::string& name) {
  return *std::find_if(columns.begin(), columns.end(), [&](const Column& one) { return one.name == name; });
}

TEST(Columns, RefuseOffsetsThatDoNotRiseOrPassTheEnd) {
  const auto good = columns_of(sorted_rows());
  EXPECT_EQ(rows_of(good).take(), sorted_rows());
  for (const std::vector<std::int64_t>& offsets : std::vector<std::vector<std::int64_t>>{
           {0, 4, 3, 8}, {0, 4, 4, 9}, {-1, 4, 4, 8}, {1, 4, 4, 8}, {0, 4, 8}, {0, 4, 4, 7}}) {
    auto columns = good;
    column(columns, "output_ids_offsets").values = offsets;
    EXPECT_NE(refusal(columns).find("'output_ids_offsets'"), std::string::npos) << refusal(columns);
  }
}

TEST(Columns, NameTheOneThatIsMissingOrOfAnotherTypeOrLength) {
  auto columns = columns_of(sorted_rows());
  column(columns, "score").values = std::vector<double>{1};
  EXPECT_NE(refusal(columns).find("'score': expected 3 values, found 1"), std::string::npos)
      << refusal(columns);
  column(columns, "score").values = std::vector<std::int64_t>{1, 2, 3};
  EXPECT_NE(refusal(columns).find("'score': has values of another type"), std::string::npos)
      << refusal(columns);
  column(columns, "score").name = "scor";
  EXPECT_NE(refusal(columns).find("'score': is missing"), std::string::npos) << refusal(columns);
  columns = columns_of(sorted_rows());
  column(columns, "references").values =
      std::vector<std::uint8_t>(column(columns, "references").values.index() == 4
                                    ? std::get<4>(column(columns, "references").values).size()
                                    : 0,
                                '[');
  EXPECT_NE(refusal(columns).find("'references': expected a JSON list"), std::string::npos)
      << refusal(columns);
  columns = columns_of(sorted_rows());
  columns.push_back({"later", "s", "a column of a later version", std::vector<double>{}});
  EXPECT_EQ(refusal(columns), "taken");
}

TEST(Columns, OfAnEarlierVersionLackTheTimeOfDay) {
  std::vector<Column> columns = columns_of({sample_row(1)});
  std::erase_if(columns, [](const Column& one) { return one.name == "t_kv_unix_s"; });
  const auto rows = rows_of(columns).take();
  ASSERT_EQ(rows.size(), 1u);
  Row expected = sample_row(1);
  expected.t_kv_unix_s = 0;
  EXPECT_EQ(rows[0], expected);
}

TEST(Columns, EachHasUnitsOrIsANameAndSaysWhatItMeans) {
  for (const Column& one : columns_of({})) {
    EXPECT_FALSE(one.long_name.empty()) << one.name;
    EXPECT_TRUE(!one.name.ends_with("_s") || one.units == "s") << one.name;
    EXPECT_TRUE(!one.name.ends_with("_bytes") || one.units == "byte") << one.name;
  }
}

}  // namespace
}  // namespace lynxkv::results
