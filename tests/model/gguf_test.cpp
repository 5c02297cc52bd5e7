#include "model/gguf.hpp"

#include <gtest/gtest.h>

#include "tests/model/gguf_builder.hpp"
#include "tests/support/expect_error.hpp"

namespace lynxkv::model {
namespace {

using testing::error_of;
using testing::GgufBuilder;
using testing::has;

std::string refusal(const std::vector<std::byte>& bytes) {
  const std::string message = error_of([&] { Gguf(bytes, "model.gguf"); });
  EXPECT_TRUE(has(message, "model.gguf"));
  return message;
}

GgufBuilder one_tensor() {
  GgufBuilder file;
  file.u32("some.number", 7).text("some.text", "hello");
  file.tensor("t", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  return file;
}

// The bytes with the little-endian field at `at` replaced.
template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

TEST(Gguf, GivesMetadataAndTensors) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder builder = one_tensor();
    builder.version = version;
    builder.integers("ids", {3, -1}).texts("names", {"x", "", "z"}).boolean("yes", true).f32("half", 0.5f);
    const auto bytes = builder.bytes();
    const Gguf file(bytes, "model.gguf");
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.integer("some.number"), 7);
    EXPECT_EQ(file.number("some.number"), 7.0);
    EXPECT_EQ(file.number("half"), 0.5);
    EXPECT_EQ(file.text("some.text"), "hello");
    EXPECT_EQ(file.boolean("yes"), true);
    EXPECT_EQ(file.integers("ids"), (std::vector<std::int32_t>{3, -1}));
    EXPECT_EQ(file.texts("names"), (std::vector<std::string_view>{"x", "", "z"}));
    EXPECT_FALSE(file.integer("absent").has_value());
    ASSERT_NE(file.tensor("t"), nullptr);
    EXPECT_EQ(file.tensor("t")->columns(), 4u);
    EXPECT_EQ(file.tensor("t")->rows(), 2u);
    EXPECT_EQ(file.tensor("t")->bytes.size(), 32u);
    EXPECT_EQ(file.tensor("u"), nullptr);
  }
}

TEST(Gguf, RefusesAnEmptyFileAndOneOfAnotherKind) {
  EXPECT_TRUE(has(refusal({}), "empty"));
  EXPECT_TRUE(has(refusal(with(one_tensor().bytes(), 0, std::uint32_t{0x46554746})), "expected a GGUF file"));
  EXPECT_TRUE(
      has(refusal(with(one_tensor().bytes(), 4, std::uint32_t{1})), "expected GGUF version 2 or 3, found 1"));
  EXPECT_TRUE(has(refusal(with(one_tensor().bytes(), 4, std::uint32_t{0x03000000})), "big-endian"));
}

TEST(Gguf, RefusesAFileCutAnywhere) {
  const auto whole = testing::tiny_model().bytes();
  Gguf(whole, "model.gguf");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_FALSE(refusal(cut).empty()) << "cut to " << length << " of " << whole.size() << " bytes";
  }
}

TEST(Gguf, RefusesCountsThatTheFileCannotHold) {
  const auto bytes = one_tensor().bytes();
  for (const std::uint64_t count : {std::uint64_t{1} << 20, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_TRUE(has(refusal(with(bytes, 8, count)), "found a count of " + std::to_string(count)));  // tensors
    EXPECT_TRUE(
        has(refusal(with(bytes, 16, count)), "found a count of " + std::to_string(count)));  // metadata
    GgufBuilder builder;
    builder.entry("list", 9, [&](ByteWriter& out) {
      out.write(std::uint32_t{4});
      out.write(count);
    });
    EXPECT_TRUE(has(refusal(builder.bytes()), "found a count of " + std::to_string(count)));
  }
}

TEST(Gguf, RefusesStringsLongerThanTheRest) {
  const auto bytes = one_tensor().bytes();
  EXPECT_TRUE(has(refusal(with(bytes, 24, std::uint64_t{40000})), "ends inside a metadata key"));
  EXPECT_TRUE(has(refusal(with(bytes, 24, ~std::uint64_t{0})), "at most 65535 bytes of a metadata key"));
}

TEST(Gguf, RefusesUnknownTypesAndArraysOfArrays) {
  GgufBuilder builder;
  builder.entry("odd", 13, [](ByteWriter& out) { out.write(std::uint64_t{0}); });
  EXPECT_TRUE(has(refusal(builder.bytes()), "expected a type from 0 to 12 for the metadata 'odd', found 13"));
  GgufBuilder nested;
  nested.entry("deep", 9, [](ByteWriter& out) {
    out.write(std::uint32_t{9});
    out.write(std::uint64_t{0});
  });
  EXPECT_TRUE(has(refusal(nested.bytes()), "array of arrays"));
  GgufBuilder tensor = one_tensor();
  tensor.tensors[0].type = 4;
  EXPECT_TRUE(has(refusal(tensor.bytes()), "tensor 't': type 4"));
}

TEST(Gguf, RefusesAKeyOrATensorThatStandsThereTwice) {
  GgufBuilder twice = one_tensor();
  twice.tensors.push_back(twice.tensors[0]);
  EXPECT_TRUE(has(refusal(twice.bytes()), "tensor 't' stands there twice"));
  GgufBuilder keys;
  keys.u32("aa", 1).u32("ab", 2);
  auto bytes = keys.bytes();
  bytes[24 + 8 + 2 + 4 + 4 + 8 + 1] = std::byte{'a'};  // the second key's second letter
  EXPECT_TRUE(has(refusal(bytes), "'aa' stands there twice"));
}

TEST(Gguf, RefusesDimensionsThatAreZeroTooManyOrOverflow) {
  for (const auto& dimensions :
       std::vector<std::vector<std::uint64_t>>{{std::uint64_t{1} << 32, std::uint64_t{1} << 32},
                                               {~std::uint64_t{0} - 3},
                                               {4, 1u << 31, 1u << 31, 1u << 31}}) {
    GgufBuilder builder = one_tensor();
    builder.tensors[0].dimensions = dimensions;
    EXPECT_TRUE(has(refusal(builder.bytes()), "too large"));
  }
  GgufBuilder zero = one_tensor();
  zero.tensors[0].dimensions = {4, 0};
  EXPECT_TRUE(has(refusal(zero.bytes()), "dimension 1 is 0"));
  GgufBuilder many = one_tensor();
  many.tensors[0].dimensions = {1, 1, 1, 1, 1};
  EXPECT_TRUE(has(refusal(many.bytes()), "expected 1 to 4 dimensions, found 5"));
  GgufBuilder none = one_tensor();
  none.tensors[0].dimensions = {};
  EXPECT_TRUE(has(refusal(none.bytes()), "expected 1 to 4 dimensions, found 0"));
}

TEST(Gguf, RefusesRowsThatAreNoWholeBlocks) {
  GgufBuilder builder = one_tensor();
  builder.tensors[0].type = 3;
  builder.tensors[0].dimensions = {48};
  EXPECT_TRUE(has(refusal(builder.bytes()), "multiple of 32 values for Q4_1, found 48"));
}

TEST(Gguf, RefusesATensorThatRunsPastTheEndOfTheFile) {
  GgufBuilder builder = one_tensor();
  builder.tensors[0].dimensions = {4, 3};
  EXPECT_TRUE(has(refusal(builder.bytes()), "expected 48 bytes at offset 0, but the data end at 32"));
  GgufBuilder offset = one_tensor();
  offset.tensors[0].offset = 64;
  EXPECT_TRUE(has(refusal(offset.bytes()), "at offset 64"));
  offset.tensors[0].offset = INT64_MAX / 32 * 32;
  EXPECT_TRUE(has(refusal(offset.bytes()), "at offset 92233720368547757"));
}

TEST(Gguf, RefusesTensorsThatOverlap) {
  GgufBuilder builder = one_tensor();
  builder.tensor("u", {4, 4}, std::vector<float>(16));
  builder.tensors[1].offset = 0;
  EXPECT_TRUE(has(refusal(builder.bytes()), "tensors 't' and 'u' overlap"));
  builder.tensors[1].offset = 32;
  const auto bytes = builder.bytes();
  EXPECT_NO_THROW(Gguf(bytes, "model.gguf"));  // side by side
}

TEST(Gguf, RefusesOffsetsAndAlignmentsThatAreNone) {
  GgufBuilder builder = one_tensor();
  builder.tensors[0].offset = 4;
  EXPECT_TRUE(has(refusal(builder.bytes()), "multiple of 32, found 4"));
  for (const std::uint32_t alignment : {0u, 3u, 48u, 1u << 31}) {
    GgufBuilder odd = one_tensor();
    odd.u32("general.alignment", alignment);
    EXPECT_TRUE(has(refusal(odd.bytes()), "power of two"));
  }
}

TEST(Gguf, PlacesTensorsByTheAlignmentThatTheFileNames) {
  GgufBuilder builder = one_tensor();
  builder.u32("general.alignment", 8);
  builder.alignment = 8;
  builder.tensor("u", {3}, {1, 2, 3});
  const auto bytes = builder.bytes();
  const Gguf file(bytes, "model.gguf");
  float value = 0;
  std::memcpy(&value, file.tensor("u")->bytes.data() + 8, 4);
  EXPECT_EQ(value, 3.0f);
}

TEST(Gguf, NamesTheTypeThatItFound) {
  const auto bytes = one_tensor().bytes();
  const Gguf file(bytes, "model.gguf");
  EXPECT_TRUE(has(error_of([&] { file.integer("some.text"); }),
                  "expected an integer below 2^63 as 'some.text', found string"));
  EXPECT_TRUE(
      has(error_of([&] { file.text("some.number"); }), "expected a string as 'some.number', found u32"));
  EXPECT_TRUE(has(error_of([&] { file.texts("some.number"); }), "an array of strings"));
}

}  // namespace
}  // namespace lynxkv::model
