#include "engine/agreement.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.hpp"

namespace lynxkv::engine {
namespace {

TEST(Agreement, PassesWhereAllRanksHaveTheSame) {
  require_equal({{0, {{"model", "a"}, {"host", "x"}}}, {1, {{"model", "a"}, {"host", "y"}}}}, {"model"});
}

TEST(Agreement, NamesEveryDifferenceWithItsRanksAndValues) {
  try {
    require_equal({{0, {{"model", "a"}, {"sinks", "4"}}}, {1, {{"model", "a"}, {"sinks", "0"}}}, {2, {{"model", "b"}, {"sinks", "4"}}}},
                  {"model", "sinks", "absent"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    const std::string text = error.what();
    EXPECT_NE(text.find("model: rank 0,1 has 'a', rank 2 has 'b'"), std::string::npos) << text;
    EXPECT_NE(text.find("sinks: rank 1 has '0', rank 0,2 has '4'"), std::string::npos) << text;
  }
}

TEST(Agreement, LooksAtWhatSteersCommunicationAndNotAtWhatALauncherSetsForEachRank) {
  setenv("UCX_TLS", "tcp", 1);
  setenv("OMPI_MCA_btl", "tcp,self", 1);
  setenv("OMPI_MCA_orte_ess_vpid", "3", 1);
  const std::string text = communication_environment();
  EXPECT_NE(text.find("UCX_TLS=tcp"), std::string::npos);
  EXPECT_NE(text.find("OMPI_MCA_btl=tcp,self"), std::string::npos);
  EXPECT_EQ(text.find("vpid"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv::engine
