// Which GPU each rank takes, and what a run is told where NCCL cannot be used.
#include <gtest/gtest.h>

#include "comm/nccl_placement.hpp"

namespace lynxkv::comm {
namespace {

NcclFacts rank_on(const std::string& host, std::vector<std::string> gpus) {
  NcclFacts facts;
  facts.host = host;
  facts.version = "2.28.9";
  facts.gpus = std::move(gpus);
  return facts;
}

std::string refusal(const std::vector<NcclFacts>& ranks, const std::vector<Route>& routes) {
  const auto placed = place_on_gpus(ranks, routes);
  EXPECT_FALSE(placed.ok());
  if (placed.ok()) return {};
  EXPECT_EQ(placed.error().code(), ErrorCode::usage);
  const std::string text = placed.error().what();
  EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
  return text;
}

TEST(NcclPlacement, GivesTheRanksOfAHostItsGpusInTurn) {
  const std::vector<NcclFacts> ranks = {rank_on("a", {"1", "2", "3"}), rank_on("b", {"1"}), rank_on("a", {"1", "2", "3"})};
  EXPECT_EQ(place_on_gpus(ranks, all_routes(3)).take(), (std::vector<int>{0, 0, 1}));
}

TEST(NcclPlacement, TakesTheOneGpuThatALauncherShowsEachRank) {
  EXPECT_EQ(place_on_gpus({rank_on("a", {"4"}), rank_on("a", {"7"})}, {{0, 1}}).take(), (std::vector<int>{0, 0}));
}

TEST(NcclPlacement, AsksNoGpuOfRanksThatCarryNoData) {
  EXPECT_EQ(place_on_gpus({rank_on("a", {"1"}), rank_on("a", {}), rank_on("b", {"1"})}, {{0, 2}}).take(), (std::vector<int>{0, -1, 0}));
  EXPECT_EQ(place_on_gpus({rank_on("a", {})}, all_routes(1)).take(), (std::vector<int>{-1}));
}

TEST(NcclPlacement, RefusesTwoRanksOnOneGpu) {
  const std::string text = refusal({rank_on("a", {"0000:01:00.0"}), rank_on("b", {"x"}), rank_on("a", {"0000:01:00.0"})}, all_routes(3));
  EXPECT_NE(text.find("ranks 0 and 2 would share GPU 0000:01:00.0 of a"), std::string::npos) << text;
  EXPECT_NE(text.find("--gpus-per-task=1"), std::string::npos) << text;
}

TEST(NcclPlacement, RefusesRanksWithoutAGpuAndNamesThemTogether) {
  NcclFacts without = rank_on("a", {});
  without.trouble = "no GPU (no NVIDIA driver is loaded)";
  const std::string text = refusal({without, rank_on("b", {"1"}), without}, all_routes(3));
  EXPECT_NE(text.find("ranks 0, 2 on a: no GPU (no NVIDIA driver is loaded)"), std::string::npos) << text;
  EXPECT_NE(text.find("use link.transport: mpi"), std::string::npos) << text;
}

TEST(NcclPlacement, RefusesABuildWithoutNccl) {
  NcclFacts without = rank_on("a", {});
  without.version.clear();
  EXPECT_NE(refusal({without, without}, all_routes(2)).find("ranks 0, 1 on a: this program was built without NCCL"), std::string::npos);
}

TEST(NcclPlacement, RefusesVersionsThatDiffer) {
  NcclFacts other = rank_on("b", {"1"});
  other.version = "2.27.3";
  EXPECT_NE(refusal({rank_on("a", {"1"}), other}, all_routes(2)).find("rank 0 has NCCL 2.28.9 and rank 1 has 2.27.3"), std::string::npos);
}

TEST(NcclPlacement, RefusesMoreStreamsThanAGpuKeepsApart) {
  std::vector<NcclFacts> ranks;
  std::vector<Route> routes;
  for (int rank = 0; rank < 17; ++rank) ranks.push_back(rank_on("host" + std::to_string(rank), {"1"}));
  for (int to = 1; to <= 15; ++to) routes.emplace_back(0, to);
  EXPECT_TRUE(place_on_gpus(ranks, routes).ok());
  routes.emplace_back(0, 16);
  EXPECT_NE(refusal(ranks, routes).find("rank 0 would need 34 streams"), std::string::npos);
  for (NcclFacts& facts : ranks) facts.queues = 8;
  EXPECT_NE(refusal(ranks, {{0, 1}, {0, 2}, {0, 3}, {0, 4}}).find("keeps 8 apart"), std::string::npos);
}

TEST(NcclPlacement, ReadsBackWhatARankTells) {
  NcclFacts facts = rank_on("a", {"1", "2"});
  facts.trouble = "two\nlines";
  facts.queues = 8;
  const NcclFacts read = parse_nccl_facts(to_text(facts)).take();
  EXPECT_EQ(read.host, "a");
  EXPECT_EQ(read.version, "2.28.9");
  EXPECT_EQ(read.trouble, "two lines");
  EXPECT_EQ(read.queues, 8);
  EXPECT_EQ(read.gpus, facts.gpus);
}

TEST(NcclPlacement, RefusesFactsOfAnotherBuild) {
  for (const char* text : {"", "a", "a\n2.28.9\n\n", "a\n2.28.9\n\nmany\n", "a\n2.28.9\n\n32\n1"}) EXPECT_FALSE(parse_nccl_facts(text).ok()) << text;
}

}  // namespace
}  // namespace lynxkv::comm
