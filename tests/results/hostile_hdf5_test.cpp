// HDF5 files from strangers: links that lead elsewhere, values in other files, types, ranks and sizes that we never write.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "results/hdf5.hpp"
#include "results/hdf5_capture.hpp"
#include "tests/results/rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;

// Every file that tests/results/hostile_hdf5.py makes of the sound one.
template <class Look>
void for_each_hostile(const TemporaryFolder& folder, const std::string& kind, const std::string& sound, Look look) {
  if (std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0) GTEST_SKIP() << "no Python with h5py here";
  const std::string made = folder.file("made");
  std::filesystem::create_directory(made);
  const std::string script = std::string(LYNXKV_TEST_DATA) + "/../results/hostile_hdf5.py";
  ASSERT_EQ(std::system(("/usr/bin/python3 " + script + " " + kind + " " + sound + " " + made).c_str()), 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(made))
    if (entry.path().extension() == ".h5") {
      SCOPED_TRACE(entry.path().stem().string());
      ++files;
      look(entry.path().string());
    }
  EXPECT_GT(files, 30);
}

TEST(HostileHdf5, OfCapturedKvIsRefusedInOneLine) {
  const TemporaryFolder folder;
  KvFile capture{"tiny.gguf", "text.txt", 3, 2, 2, {0, 2}, {5, 6, 7}, {}, {}};
  capture.key.assign(24, 0x3f80);
  capture.value.assign(24, 0xbf80);
  write_kv_file(folder.file("kv.h5"), capture);
  for_each_hostile(folder, "kv", folder.file("kv.h5"), [](const std::string& path) {
    const auto read = read_kv_file(path);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), ErrorCode::bad_data);
    EXPECT_EQ(std::string(read.error().what()).find('\n'), std::string::npos) << read.error().what();
  });
}

TEST(HostileHdf5, OfResultsIsRefusedInOneLine) {
  const TemporaryFolder folder;
  write_hdf5(folder.file("results.h5"), {testing::sample_row(0), testing::sample_row(1)}, {true, "a: 1", "{}"});
  ASSERT_TRUE(read_hdf5(folder.file("results.h5")).ok());
  for_each_hostile(folder, "results", folder.file("results.h5"), [](const std::string& path) {
    const auto read = read_hdf5(path);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), ErrorCode::bad_data);
    EXPECT_EQ(std::string(read.error().what()).find('\n'), std::string::npos) << read.error().what();
    static_cast<void>(read_hdf5_meta(path));
  });
}

}  // namespace
}  // namespace lynxkv::results
