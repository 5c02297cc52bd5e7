#include "results/row_codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/cbor.hpp"
#include "results/row_json.hpp"
#include "tests/results/rows.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;
using testing::sample_row;

std::string refusal(const json& row) {
  const auto result = decode_row(to_cbor(json{{"row", row}}));
  return result.ok() ? "taken" : result.error().what();
}

TEST(RowCodec, GivesBackEveryField) {
  const Row row = sample_row(7);
  EXPECT_EQ(decode_row(encode_row(row)).take(), row);
  Row other = row;
  other.retries = 3;
  EXPECT_NE(decode_row(encode_row(other)).take(), row);
}

TEST(RowCodec, GivesBackADefaultRowAndExtremeValues) {
  EXPECT_EQ(decode_row(encode_row(Row{})).take(), Row{});
  Row row;
  row.key.line = std::numeric_limits<std::int64_t>::max();
  row.key.file_hash = std::numeric_limits<std::uint64_t>::max();
  row.output_ids = {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  row.ttft_s = -1e300;
  row.tpot_s = 5e-324;
  row.latency_s = std::numeric_limits<double>::infinity();
  EXPECT_EQ(decode_row(encode_row(row)).take(), row);
  row.score = std::nan("");
  EXPECT_TRUE(std::isnan(decode_row(encode_row(row)).take().score));
}

TEST(RowCodec, KeepsTextThatIsNoUtf8ByteForByte) {
  Row row;
  row.prediction = std::string("a\xff\0\xc3", 4);
  EXPECT_EQ(decode_row(encode_row(row)).take().prediction, row.prediction);
}

TEST(RowCodec, NamesAFieldThatIsMissingOrOfAnotherType) {
  json row = row_to_json(sample_row(1));
  row.erase("score");
  EXPECT_NE(refusal(row).find("'score': is missing"), std::string::npos) << refusal(row);
  row["score"] = "high";
  EXPECT_NE(refusal(row).find("'score': expected a number, found string"), std::string::npos) << refusal(row);
  row["score"] = 1;
  EXPECT_EQ(refusal(row), "taken");
  row["output_ids"] = {1, 2.5};
  EXPECT_NE(refusal(row).find("'output_ids': expected an integer"), std::string::npos) << refusal(row);
}

TEST(RowCodec, RefusesIntegersThatDoNotFitInsteadOfCuttingThem) {
  json row = row_to_json(sample_row(1));
  row["output_ids"] = {std::int64_t{1} << 32};
  EXPECT_NE(refusal(row).find("'output_ids': its value is out of range"), std::string::npos) << refusal(row);
  row = row_to_json(sample_row(1));
  row["wire_bytes"] = -1;
  EXPECT_NE(refusal(row).find("'wire_bytes': its value is out of range"), std::string::npos) << refusal(row);
  row = row_to_json(sample_row(1));
  row["line"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_NE(refusal(row).find("'line'"), std::string::npos) << refusal(row);
}

TEST(RowCodec, RefusesMoreMarksThanThereAre) {
  json row = row_to_json(sample_row(1));
  row["ttkt_s"] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_NE(refusal(row).find("'ttkt_s': expected at most 7"), std::string::npos) << refusal(row);
  row = row_to_json(sample_row(1));
  row["stream_bytes"] = {1, 2};
  EXPECT_NE(refusal(row).find("'stream_bytes': expected a list of 3"), std::string::npos) << refusal(row);
}

TEST(RowCodec, RefusesEveryPrefixAndAnyByteAfterTheEnd) {
  auto bytes = encode_row(sample_row(3));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_row(std::span(bytes).first(length)).ok()) << length;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_row(bytes).ok());
}

TEST(RowCodec, SurvivesEveryFlippedBit) {
  const auto good = encode_row(sample_row(3));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = good;
      bytes[at] ^= std::byte{1} << bit;
      const auto row = decode_row(bytes);  // either outcome is fine: the record's checksum is elsewhere
      EXPECT_TRUE(!row.ok() || row.value().ttkt_s.size() <= ttkt_marks.size());
    }
}

TEST(Cbor, RefusesDeepNestingHugeCountsTagsAndOpenEnds) {
  const auto refused = [](std::vector<unsigned> raw) {
    std::vector<std::byte> bytes;
    for (const unsigned byte : raw) bytes.push_back(std::byte(byte));
    return !from_cbor(bytes).ok();
  };
  EXPECT_TRUE(refused(std::vector<unsigned>(1000000, 0x81)));                          // [[[[...
  EXPECT_TRUE(refused({0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}));  // a list of 2^63 - 1
  EXPECT_TRUE(refused({0xbb, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}));  // a map of 2^63
  EXPECT_TRUE(refused({0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x61}));  // a text of 2^64 - 1
  EXPECT_TRUE(refused({0xc0, 0x00}));                                                  // a tag
  EXPECT_TRUE(refused({0x9f, 0x00, 0xff}));  // a list without a count
  EXPECT_TRUE(refused({0x1c}));              // reserved
  EXPECT_TRUE(refused({}));
  EXPECT_FALSE(refused({0x81, 0x81, 0x00}));
}

}  // namespace
}  // namespace lynxkv::results
