#include "sessions/matrix/fault_cause.h"

#include <gtest/gtest.h>

namespace hybridscope::test::fault_cause_test {
namespace {

const KnownBug* bug_called(std::string_view id) { return find_known_bug(id).value(); }

TEST(FaultCause, OfBugsIsTheirIds) {
  const KnownBug* const bugs[] = {bug_called("mid-block-chunk-poisons-slot"),
                                  bug_called("stale-accepted-count-on-slot-reuse")};
  EXPECT_EQ(name_of_bugs(bugs), "mid-block-chunk-poisons-slot+stale-accepted-count-on-slot-reuse");
}

// Bug 48 is accepted_count_owner=persistent_row; bug 9 needs accepted_count_landing as well.
TEST(FaultCause, OfPoliciesIsTheBugsThatTheyMakeAndTheValuesLeft) {
  const KnownBug* const bugs[] = {bug_called("align-counts-permuted-twice"),
                                  bug_called("skipped-step-forgets-accepted-count")};
  EXPECT_EQ(name_of_policies({AcceptedCountOwner::persistent_row, RowOrder::query_len}, bugs),
            "skipped-step-forgets-accepted-count+row_order=query_len");
  EXPECT_EQ(name_of_policies({RowOrder::query_len}, bugs), "row_order=query_len");
}

TEST(FaultCause, GivesThePoliciesBack) {
  const PolicyOverrides expected = {AcceptedCountOwner::persistent_row, RowOrder::query_len};
  EXPECT_EQ(policies_of_cause("skipped-step-forgets-accepted-count+row_order=query_len").value(),
            expected);
}

TEST(FaultCause, ThatIsNoneIsRefused) {
  EXPECT_FALSE(policies_of_cause("mid-block-chunk-poisons-slot+").ok());
  EXPECT_EQ(policies_of_cause("row_order=query").error().message,
            "there is no policy with this value: row_order=query");
  EXPECT_FALSE(policies_of_cause("row_oder=query_len").ok());
}

}  // namespace
}  // namespace hybridscope::test::fault_cause_test
