#include "core/base/result.h"

#include <gtest/gtest.h>

namespace hybridscope::result_test {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  const Result<int> bad = invalid_input("3 rows, expected 4");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "3 rows, expected 4");
}

TEST(Result, TakingTheValueOfAnErrorIsAContractViolation) {
  const Result<int> bad = invalid_input("no");
  EXPECT_THROW(static_cast<void>(bad.value()), ContractViolation);
}

}  // namespace
}  // namespace hybridscope::result_test
