#include "results/posix_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

using lynxkv::testing::TemporaryFolder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ReplaceFile, WritesANewFileAndReplacesAnOldOne) {
  TemporaryFolder folder;
  replace_file(folder.file("a"), bytes_of("one"));
  replace_file(folder.file("a"), bytes_of("two"));
  EXPECT_EQ(slurp(folder.file("a")), "two");
  EXPECT_FALSE(std::filesystem::exists(folder.file("a.tmp")));
}

TEST(ReplaceFile, FollowsALinkToTheFileInsteadOfReplacingTheLink) {
  TemporaryFolder folder;
  replace_file(folder.file("a"), bytes_of("one"));
  std::filesystem::create_symlink(folder.file("a"), folder.file("link"));
  replace_file(folder.file("link"), bytes_of("two"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(slurp(folder.file("a")), "two");
}

TEST(CheckReplaceable, SaysWhetherAFileCouldBeWrittenAndLeavesEverythingAsItWas) {
  TemporaryFolder folder;
  replace_file(folder.file("old"), bytes_of("one"));
  check_replaceable(folder.file("old"));
  EXPECT_EQ(slurp(folder.file("old")), "one");
  check_replaceable(folder.file("new"));
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder.path()), {}); };
  EXPECT_EQ(files(), 1);
  std::ofstream(folder.file("old.tmp")) << "of another";
  check_replaceable(folder.file("old"));
  EXPECT_EQ(slurp(folder.file("old.tmp")), "of another");
  EXPECT_EQ(files(), 2);
  check_replaceable("/dev/null");
  for (const std::string& path : {folder.file("absent/new"), folder.file("old/new"), folder.file(""), std::string("/proc/new")})
    EXPECT_THROW(check_replaceable(path), Error) << path;
}

// Many runs of an array start at once, with folders beside each other in one that is not there yet: one that came and
// went again would be gone under another's feet.
TEST(CheckFolder, NeverMakesAFolderThatAnotherRunCouldTakeForItsOwn) {
  TemporaryFolder folder;
  std::atomic<bool> over{false};
  std::thread checks([&] {
    for (int i = 0; i < 1000; ++i) check_folder(folder.file("out/b"));
    over = true;
  });
  int seen = 0;
  while (!over) seen += std::filesystem::exists(folder.file("out")) ? 1 : 0;
  checks.join();
  EXPECT_EQ(seen, 0);
}

TEST(CheckFolder, SaysWhetherAFolderCouldBeWrittenToAndLeavesNoneBehind) {
  TemporaryFolder folder;
  check_folder(folder.file("a/b/c"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  check_folder(folder.file("a/b/"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  make_folder(folder.file("a/b"));
  check_folder(folder.file("a/b"));
  check_folder(folder.file("a/b/c"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("a/b")));
  replace_file(folder.file("file"), bytes_of("x"));
  EXPECT_THROW(check_folder(folder.file("file/a")), Error);
  EXPECT_THROW(check_folder("/proc/lynxkv"), Error);
}

TEST(ReplaceFile, NeverPutsAFileInThePlaceOfADeviceOrAPipe) {
  TemporaryFolder folder;
  // Root could do harm with a fault here: it gets a full disk of its own. Others cannot hurt /dev.
  const std::string full = folder.file("full");
  const bool own = ::mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) == 0 && std::ofstream(full).is_open();
  if (!own && ::geteuid() == 0) GTEST_SKIP() << "no devices can be made here";
  const std::string device = own ? full : "/dev/full";
  try {
    replace_file(device, bytes_of("x"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::incomplete);
    EXPECT_NE(std::string(error.what()).find("No space left on device; free some space"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_character_file(device));
}

TEST(ReplaceFile, RefusesAFolder) {
  TemporaryFolder folder;
  EXPECT_THROW(replace_file(folder.path(), bytes_of("x")), Error);
}

}  // namespace
}  // namespace lynxkv::results
