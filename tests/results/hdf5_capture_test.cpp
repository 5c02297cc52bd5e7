// Captured KV in HDF5: round trips, what h5py sees, and files that nobody should trust.
#include "results/hdf5_capture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.hpp"
#include "results/journal.hpp"
#include "results/hdf5.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::results {
namespace {

// Two of three layers, three tokens, two heads of two channels.
KvFile small() {
  KvFile capture{"tiny.gguf", "text.txt", 3, 2, 2, {0, 2}, {5, 6, 7}, {}, {}};
  for (std::uint16_t i = 0; i < 24; ++i) {
    capture.key.push_back(static_cast<std::uint16_t>(0x3f80 + i));
    capture.value.push_back(static_cast<std::uint16_t>(0xbf80 - i));
  }
  return capture;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void expect_equal(const KvFile& a, const KvFile& b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.model_layers, b.model_layers);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.token_ids, b.token_ids);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.value, b.value);
}

TEST(CapturedKv, ComesBackAsItWasWritten) {
  const lynxkv::testing::TemporaryFolder folder;
  write_kv_file(folder.file("kv.h5"), small());
  EXPECT_TRUE(is_hdf5_file(folder.file("kv.h5")));
  expect_equal(read_kv_file(folder.file("kv.h5")).take(), small());
}

TEST(CapturedKv, IsReadByH5py) {
  const lynxkv::testing::TemporaryFolder folder;
  write_kv_file(folder.file("kv.h5"), small());
  const std::string script =
      "import h5py, sys\n"
      "f = h5py.File(sys.argv[1])\n"
      "assert f.attrs['format'] == b'lynxkv kv' and f.attrs['complete'] == 1\n"
      "k = f['key']\n"
      "assert k.shape == (2, 3, 4) and k.dtype == 'uint16' and k.attrs['dtype'] == 'bfloat16', k\n"
      "assert k[0, 0, 1] == 0x3f81 and f['value'][1, 2, 3] == 0xbf80 - 23\n"
      "x = (k[:].astype('uint32') << 16).view('float32')\n"
      "assert x[0, 0, 0] == 1.0 and list(f['layers']) == [0, 2]\n";
  write_bytes(folder.file("check.py"), script);
  EXPECT_EQ(std::system(("/usr/bin/python3 " + folder.file("check.py") + " " + folder.file("kv.h5")).c_str()), 0);
}

TEST(CapturedKv, RefusesEveryTruncation) {
  const lynxkv::testing::TemporaryFolder folder;
  write_kv_file(folder.file("kv.h5"), small());
  const std::string whole = bytes_of(folder.file("kv.h5"));
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    write_bytes(folder.file("cut.h5"), whole.substr(0, size));
    const auto read = read_kv_file(folder.file("cut.h5"));
    ASSERT_FALSE(read) << size << " of " << whole.size() << " bytes";
    EXPECT_EQ(read.error().code(), ErrorCode::bad_data);
  }
}

// The library has no checksums, so a flipped value may pass; what passes must be of one piece.
TEST(CapturedKv, SurvivesFlippedBytesAnywhere) {
  const lynxkv::testing::TemporaryFolder folder;
  write_kv_file(folder.file("kv.h5"), small());
  const std::string whole = bytes_of(folder.file("kv.h5"));
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = whole;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    write_bytes(folder.file("bad.h5"), damaged);
    const auto read = read_kv_file(folder.file("bad.h5"));
    if (!read) {
      ++refused;
      continue;
    }
    const KvFile& found = read.value();
    const std::size_t values = found.layers.size() * found.token_ids.size() *
                               static_cast<std::size_t>(found.kv_heads) * static_cast<std::size_t>(found.head_dim);
    ASSERT_EQ(found.key.size(), values);
    ASSERT_EQ(found.value.size(), values);
  }
  EXPECT_GT(refused, 20);
}

TEST(CapturedKv, RefusesFilesOfAnotherKind) {
  const lynxkv::testing::TemporaryFolder folder;
  EXPECT_EQ(read_kv_file(folder.file("none.h5")).error().code(), ErrorCode::bad_data);
  write_bytes(folder.file("text"), "no HDF5 at all");
  EXPECT_FALSE(is_hdf5_file(folder.file("text")));
  EXPECT_FALSE(read_kv_file(folder.file("text")));
  write_hdf5(folder.file("results.h5"), {}, {});
  const auto read = read_kv_file(folder.file("results.h5"));
  ASSERT_FALSE(read);
  EXPECT_NE(std::string(read.error().what()).find("not one of captured KV"), std::string::npos) << read.error().what();
}

TEST(CapturedKv, RefusesPartsThatDoNotFitEachOther) {
  const lynxkv::testing::TemporaryFolder folder;
  const auto refused = [&](auto change) {
    KvFile capture = small();
    change(capture);
    write_kv_file(folder.file("kv.h5"), capture);
    const auto read = read_kv_file(folder.file("kv.h5"));
    return read ? std::string("accepted") : std::string(read.error().what());
  };
  EXPECT_NE(refused([](KvFile& c) { c.layers = {2, 0}; }).find("ascending"), std::string::npos);
  EXPECT_NE(refused([](KvFile& c) { c.layers = {0, 3}; }).find("below 3"), std::string::npos);
  EXPECT_NE(refused([](KvFile& c) { c.model_layers = 0; }).find("model_layers"), std::string::npos);
  EXPECT_EQ(refused([](KvFile& c) { c.kv_heads = 4, c.head_dim = 1; }), "accepted");
}

}  // namespace
}  // namespace lynxkv::results
