#include "spec/acceptance.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lynxkv::spec {
namespace {

using Ids = std::vector<model::TokenId>;

TEST(Acceptance, TakesAllDraftsWhereAllMatch) { EXPECT_EQ(accepted_prefix(Ids{4, 5, 6}, Ids{4, 5, 6, 7}), 3); }

TEST(Acceptance, StopsBeforeTheFirstMismatchEvenWhereLaterOnesMatch) {
  EXPECT_EQ(accepted_prefix(Ids{9, 5, 6}, Ids{4, 5, 6, 7}), 0);
  EXPECT_EQ(accepted_prefix(Ids{4, 9, 6}, Ids{4, 5, 6, 7}), 1);
  EXPECT_EQ(accepted_prefix(Ids{4, 5, 9}, Ids{4, 5, 6, 7}), 2);
}

TEST(Acceptance, OfNoDraftIsNothing) { EXPECT_EQ(accepted_prefix(Ids{}, Ids{3}), 0); }

}  // namespace
}  // namespace lynxkv::spec
