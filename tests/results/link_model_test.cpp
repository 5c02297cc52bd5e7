// The fitted link: time = latency + bytes / rate, and which transfers may be fitted.
#include <gtest/gtest.h>

#include <cmath>

#include "results/link_model.hpp"

namespace lynxkv::results {
namespace {

Transfers made_of(std::vector<TransferTime> alone) {
  Transfers made;
  made.measured = made.requests = alone.size();
  made.alone = std::move(alone);
  return made;
}

std::vector<TransferTime> exact(double latency_s, double rate) {
  std::vector<TransferTime> made;
  for (const double bytes : {1e6, 2e6, 3e6, 5e6, 8e6, 13e6}) made.push_back({bytes, latency_s + bytes / rate});
  return made;
}

// Sent after its prefill ended at 1000 s + `at`, by rank 0 to rank 1.
Row sent(double at, double anchor_ready_s, double residual_ready_s, std::uint64_t anchor = 100, std::uint64_t residual = 50) {
  Row row;
  row.start = "after_prefill";
  row.t_kv_unix_s = 1000 + at;
  row.prefill_s = 0.5;
  row.anchor_ready_s = anchor_ready_s;
  row.residual_ready_s = residual_ready_s;
  row.stream_bytes = {anchor, residual, 0};
  row.decode_rank = 1;
  return row;
}

Transfers of(std::vector<Row> rows) {
  return transfers_of(rows);
}

TEST(LinkModel, FindsLatencyAndRateOfAnExactLink) {
  const LinkModel model = fit_link(made_of(exact(0.004, 1.25e8)));
  EXPECT_NEAR(model.latency_s, 0.004, 1e-9);
  EXPECT_NEAR(model.bytes_per_s, 1.25e8, 1);
  EXPECT_EQ(model.transfers, 6u);
  EXPECT_NEAR(model.apart_p90, 0, 1e-9);
  EXPECT_EQ(model.why_not, "");
}

TEST(LinkModel, IsNotBentByOneTransferThatStood) {
  auto transfers = exact(0.004, 1.25e8);
  transfers.push_back({4e6, 10});
  const LinkModel model = fit_link(made_of(transfers));
  EXPECT_NEAR(model.bytes_per_s, 1.25e8, 1e7);
  EXPECT_LT(model.apart_median, 0.05);
}

TEST(LinkModel, OfFewTransfersTheOneThatDoesNotFitIsNotHidden) {
  const LinkModel model = fit_link(made_of({{1e6, 1}, {2e6, 2}, {3e6, 3}, {4e6, 6}}));
  ASSERT_TRUE(model.known());
  EXPECT_GT(model.apart_p90, 0.1);
}

TEST(LinkModel, IsUnknownForFewTransfersAndForOneSize) {
  EXPECT_FALSE(fit_link({}).known());
  EXPECT_EQ(describe(fit_link({})), "");
  const LinkModel few = fit_link(made_of({{1e6, 0.1}, {2e6, 0.2}}));
  EXPECT_FALSE(few.known());
  EXPECT_NE(describe(few).find("not fitted: 2 of 2 transfers had the link alone and 3 are needed"), std::string::npos)
      << describe(few);
  const LinkModel one_size = fit_link(made_of({{1e6, 0.1}, {1e6, 0.2}, {1e6, 0.3}}));
  EXPECT_FALSE(one_size.known());
  EXPECT_NE(describe(one_size).find("are of one size"), std::string::npos) << describe(one_size);
}

TEST(LinkModel, TakesTheAnchorsAndTheWholeOfWhatBeganAfterPrefill) {
  Row row = sent(0, 1, 2);
  row.stream_bytes = {100, 50, 7};
  Row streaming = sent(10, 1, 2);
  streaming.start = "streaming";
  const Transfers transfers = of({row, streaming, sent(20, 1, 2, 300, 0)});
  ASSERT_EQ(transfers.alone.size(), 3u);
  EXPECT_EQ(transfers.alone[0].bytes, 100);
  EXPECT_EQ(transfers.alone[1].bytes, 157);
  EXPECT_EQ(transfers.alone[1].seconds, 2);
  EXPECT_EQ(transfers.alone[2].bytes, 300);
  EXPECT_EQ(transfers.measured, 3u);
  EXPECT_EQ(transfers.requests, 3u);
  EXPECT_EQ(transfers.shared, 0u);
}

TEST(LinkModel, TakesOnlyTransfersThatHadTheLinkAlone) {
  // The second begins when the first one's anchor is there and its residual is not.
  const Transfers transfers = of({sent(0, 1, 2), sent(1, 1, 2), sent(3, 1, 2)});
  ASSERT_EQ(transfers.alone.size(), 3u);
  EXPECT_EQ(transfers.alone[0].bytes, 100) << "the first one's anchor";
  EXPECT_EQ(transfers.alone[1].bytes, 100) << "the third one's anchor";
  EXPECT_EQ(transfers.alone[2].bytes, 150) << "and all of it: it began just when the second was through";
  EXPECT_EQ(transfers.measured, 6u);
  EXPECT_EQ(transfers.shared, 2u);
}

TEST(LinkModel, SeesALongTransferBehindShortOnesThatCameLater) {
  const Transfers transfers = of({sent(5, 1, 2), sent(0, 8, 9), sent(2, 1, 2), sent(20, 1, 2)});
  EXPECT_EQ(transfers.alone.size(), 2u);
  EXPECT_EQ(transfers.shared, 3u);
}

TEST(LinkModel, TwoPairsDoNotShareALinkButTwoOfOnePrefillOrDecodeRankDo) {
  Row other = sent(0, 1, 2);
  other.prefill_rank = 2, other.decode_rank = 3;
  EXPECT_EQ(of({sent(0, 1, 2), other}).alone.size(), 4u);
  other.prefill_rank = 0;
  EXPECT_EQ(of({sent(0, 1, 2), other}).alone.size(), 0u);
  other.prefill_rank = 2, other.decode_rank = 1;
  EXPECT_EQ(of({sent(0, 1, 2), other}).alone.size(), 0u);
}

TEST(LinkModel, AStreamingRequestIsOnTheLinkDuringItsPrefill) {
  Row streaming = sent(2.3, 0.1, 0.2);  // its prefill began at 1.8
  streaming.start = "streaming";
  const Transfers transfers = of({sent(0, 1, 2), streaming});
  EXPECT_EQ(transfers.alone.size(), 1u) << "the anchor, which was there before";
  EXPECT_EQ(transfers.shared, 0u) << "it may have begun to send after 2";
  streaming.t_kv_unix_s = 1001.5;
  EXPECT_EQ(of({sent(0, 1, 2), streaming}).shared, 2u);
}

TEST(LinkModel, WithinOneRankThereIsNone) {
  Row row = sent(0, 1, 2);
  row.decode_rank = row.prefill_rank;
  const Transfers transfers = of({row, row, row});
  EXPECT_EQ(transfers.measured + transfers.shared + transfers.requests, 0u);
  EXPECT_EQ(describe(fit_link(transfers)), "not fitted: one rank did prefill and decode, and nothing crossed a link");
}

TEST(LinkModel, RequestsThatShareThePacedLinkDoNotBendItsRate) {
  // 1 MB/s: eight requests at once share it, four have it alone.
  std::vector<Row> rows;
  for (int i = 0; i < 8; ++i) rows.push_back(sent(0, 8, 8.0 + i, 1'000'000, 1));
  for (std::uint64_t i = 0; i < 4; ++i)
    rows.push_back(sent(100 + 20 * static_cast<double>(i), static_cast<double>(i + 1), 0, 1'000'000 * (i + 1), 0));
  const LinkModel model = fit_link(transfers_of(rows));
  EXPECT_NEAR(model.bytes_per_s, 1e6, 1);
  EXPECT_EQ(model.transfers, 4u);
  EXPECT_EQ(model.measured, 20u);
  EXPECT_NE(describe(model).find("by the 4 of 20 transfers that had the link alone"), std::string::npos) << describe(model);
}

TEST(LinkModel, SaysWhyThereIsNone) {
  Row streaming = sent(0, 1, 2);
  streaming.start = "streaming";
  EXPECT_NE(describe(fit_link(of({streaming}))).find("not fitted: what is sent during a prefill"), std::string::npos);
  Row undated = sent(0, 1, 2);
  undated.t_kv_unix_s = 0;
  EXPECT_EQ(of({undated, undated}).shared, 0u);
  EXPECT_NE(describe(fit_link(of({undated, undated}))).find("not fitted: the rows are of an earlier version"), std::string::npos);
  EXPECT_NE(describe(fit_link(of({sent(0, 1, 2), sent(0, 1, 2)}))).find("not fitted: 0 of 4 transfers had the link alone"),
            std::string::npos);
  Row damaged = sent(0, 1, 2);
  damaged.start = "streaming", damaged.prefill_s = std::nan("");
  EXPECT_EQ(of({damaged, damaged, sent(0, 1, 2)}).alone.size(), 2u);
  Row nothing = sent(0, 0, 0, 0, 0);
  EXPECT_EQ(describe(fit_link(of({nothing}))), "");
}

}  // namespace
}  // namespace lynxkv::results
