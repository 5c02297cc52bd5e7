#include "model/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/bytes.hpp"
#include "tests/support/expect_error.hpp"

namespace lynxkv::model {
namespace {

using testing::error_of;
using testing::has;

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes, std::int64_t length = -1) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.write(length >= 0 ? static_cast<std::uint64_t>(length) : static_cast<std::uint64_t>(header.size()));
  out.write_bytes(std::as_bytes(std::span(header)));
  for (std::size_t i = 0; i < data_bytes; ++i) out.write(static_cast<std::uint8_t>(i));
  return bytes;
}

std::string refusal(const std::vector<std::byte>& bytes) {
  const std::string message = error_of([&] { read_safetensors(bytes, "x.safetensors"); });
  EXPECT_TRUE(has(message, "x.safetensors"));
  return message;
}

const std::string two_tensors =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
    R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})";

TEST(Safetensors, GivesTensorsInFileOrder) {
  const auto bytes = file_of(two_tensors, 12);
  const Safetensors file = read_safetensors(bytes, "x.safetensors");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[0].type, TensorType::bf16);
  EXPECT_EQ(file.tensors[0].shape, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(file.tensors[1].name, "b");
  EXPECT_EQ(file.tensors[1].bytes.size(), 8u);
  EXPECT_EQ(std::to_integer<int>(file.tensors[1].bytes[0]), 4);
  EXPECT_EQ(file.header.size(), 8 + two_tensors.size());
}

TEST(Safetensors, RefusesAFileCutAnywhere) {
  const auto whole = file_of(two_tensors, 12);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_FALSE(refusal(cut).empty()) << length;
  }
}

TEST(Safetensors, RefusesHeaderLengthsThatCannotBe) {
  for (const std::int64_t length : {std::int64_t{1000}, std::int64_t{200'000'000}, INT64_MAX})
    EXPECT_TRUE(has(refusal(file_of(two_tensors, 12, length)), "found " + std::to_string(length)));
  EXPECT_TRUE(has(refusal(file_of(two_tensors, 12, 10)), "safetensors header in JSON"));
}

TEST(Safetensors, RefusesOffsetsThatOverlapLeaveGapsOrRunOut) {
  const auto with_offsets = [](const char* a, const char* b) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + std::string(a) +
           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}";
  };
  EXPECT_NO_THROW(read_safetensors(file_of(with_offsets("[0,4]", "[4,8]"), 8), "x"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[2,6]"), 6)), "overlaps"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[0,4]"), 4)), "overlaps"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[8,12]"), 12)), "gap"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[4,8]"), 9)), "found 1 bytes after the last"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[4,8]"), 7)), "do not lie in the file's 7 bytes"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[8,4]"), 8)), "do not lie"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,4]", "[-4,0]"), 8)), "two offsets"));
  EXPECT_TRUE(has(refusal(file_of(with_offsets("[0,8]", "[8,12]"), 12)),
                  "expected 4 bytes by dtype and shape, found 8"));
}

TEST(Safetensors, RefusesHeadersThatSaySomethingElse) {
  EXPECT_TRUE(has(refusal(file_of("[]", 0)), "expected an object as header, found an array"));
  EXPECT_TRUE(has(refusal(file_of(R"({"a":1})", 0)), "expected an object, found the number 1"));
  EXPECT_TRUE(
      has(refusal(file_of(R"({"a":{"dtype":"F9","shape":[],"data_offsets":[0,0]}})", 0)), "dtype 'F9'"));
  EXPECT_TRUE(has(refusal(file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})", 0)),
                  "sizes in shape"));
  EXPECT_TRUE(
      has(refusal(file_of(
              R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}})", 0)),
          "too large"));
  EXPECT_TRUE(has(refusal(file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{}})", 4)),
                  "'a' stands twice"));
}

TEST(ShardIndex, NamesFilesInItsOwnFolderOnly) {
  const ShardIndex index = read_shard_index(
      R"({"weight_map":{"x":"b.safetensors","y":"a.safetensors","z":"a.safetensors"}})", "i");
  EXPECT_EQ(index.files, (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
  for (const char* name : {"../a", "/etc/passwd", "", ".hidden", "a/b"})
    EXPECT_TRUE(has(
        error_of([&] { read_shard_index(R"({"weight_map":{"x":")" + std::string(name) + R"("}})", "i"); }),
        "plain file names"));
  EXPECT_TRUE(has(error_of([] { read_shard_index("{}", "i"); }), "weight_map"));
}

}  // namespace
}  // namespace lynxkv::model
