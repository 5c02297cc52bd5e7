#include "engine/roles.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lynxkv::engine {
namespace {

RolesSection counts(int prefill, int decode) { return {prefill, decode, {}, {}}; }

TEST(Roles, OfASingleRankAreBoth) {
  const RoleMap map = make_roles(counts(1, 1), 1);
  EXPECT_TRUE(map.prefills(0) && map.decodes(0));
  EXPECT_EQ(map.name_of(0), "prefill+decode");
}

TEST(Roles, OfASingleRankAreNotMoreThanOneOfEach) {
  for (const RolesSection& roles : {counts(3, 1), counts(1, 2), RolesSection{1, 1, {0}, {1}}, RolesSection{2, 1, {0, 1}, {}}}) {
    try {
      make_roles(roles, 1);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      EXPECT_NE(std::string(error.what()).find("the job has 1"), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(make_roles({1, 1, {0}, {0}}, 1).decodes(0));
}

TEST(Roles, PutPrefillRanksFirstWhereCountsAreGiven) {
  const RoleMap map = make_roles(counts(2, 1), 3);
  EXPECT_EQ(map.prefill, (std::vector<int>{0, 1}));
  EXPECT_EQ(map.decode, (std::vector<int>{2}));
  EXPECT_EQ(map.name_of(2), "decode");
}

TEST(Roles, FollowExplicitLists) {
  const RoleMap map = make_roles({1, 2, {1}, {2, 0}}, 3);
  EXPECT_EQ(map.decode, (std::vector<int>{0, 2}));
}

TEST(Roles, MustComeOutEvenWithTheRanksOfTheJob) {
  EXPECT_THROW(make_roles(counts(1, 1), 4), Error);
  EXPECT_THROW(make_roles(counts(2, 2), 3), Error);
  EXPECT_THROW(make_roles({1, 1, {0}, {0}}, 2), Error);      // twice
  EXPECT_THROW(make_roles({1, 1, {0}, {}}, 2), Error);       // rank 1 has none
  EXPECT_THROW(make_roles({1, 2, {0}, {1, 5}}, 2), Error);   // rank 5 does not exist
  EXPECT_THROW(make_roles({2, 0, {0, 1}, {}}, 2), Error);    // nobody decodes
}

}  // namespace
}  // namespace lynxkv::engine
