// The fitted link: time = latency + bytes / rate.
#include <gtest/gtest.h>

#include "results/link_model.hpp"

namespace lynxkv::results {
namespace {

std::vector<TransferTime> exact(double latency_s, double rate) {
  std::vector<TransferTime> made;
  for (const double bytes : {1e6, 2e6, 3e6, 5e6, 8e6, 13e6}) made.push_back({bytes, latency_s + bytes / rate});
  return made;
}

TEST(LinkModel, FindsLatencyAndRateOfAnExactLink) {
  const LinkModel model = fit_link(exact(0.004, 1.25e8));
  EXPECT_NEAR(model.latency_s, 0.004, 1e-9);
  EXPECT_NEAR(model.bytes_per_s, 1.25e8, 1);
  EXPECT_EQ(model.transfers, 6u);
  EXPECT_NEAR(model.apart_p90, 0, 1e-9);
}

TEST(LinkModel, IsNotBentByOneTransferThatStood) {
  auto transfers = exact(0.004, 1.25e8);
  transfers.push_back({4e6, 10});
  const LinkModel model = fit_link(transfers);
  EXPECT_NEAR(model.bytes_per_s, 1.25e8, 1e7);
  EXPECT_LT(model.apart_median, 0.05);
}

TEST(LinkModel, IsUnknownForFewTransfersAndForOneSize) {
  EXPECT_FALSE(fit_link({}).known());
  EXPECT_FALSE(fit_link({{1e6, 0.1}, {2e6, 0.2}}).known());
  EXPECT_FALSE(fit_link({{1e6, 0.1}, {1e6, 0.2}, {1e6, 0.3}}).known());
}

TEST(LinkModel, TakesTheAnchorsAndTheWholeOfWhatBeganAfterPrefill) {
  Row row;
  row.start = "after_prefill";
  row.stream_bytes = {100, 50, 7};
  row.anchor_ready_s = 1;
  row.residual_ready_s = 2;
  Row streaming = row;
  streaming.start = "streaming";
  Row plain = row;
  plain.stream_bytes = {300, 0, 0};
  const auto transfers = transfers_of(std::vector<Row>{row, streaming, plain});
  ASSERT_EQ(transfers.size(), 3u);
  EXPECT_EQ(transfers[0].bytes, 100);
  EXPECT_EQ(transfers[1].bytes, 157);
  EXPECT_EQ(transfers[1].seconds, 2);
  EXPECT_EQ(transfers[2].bytes, 300);
}

}  // namespace
}  // namespace lynxkv::results
