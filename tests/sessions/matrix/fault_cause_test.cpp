#include "sessions/matrix/shrink_fault.h"

#include <gtest/gtest.h>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "core/engine/worker_v2_policies.h"

namespace hybridscope::test::fault_cause_test {
namespace {

TEST(FaultCause, GivesThePoliciesBack) {
  const PolicyOverrides expected = {AcceptedCountOwner::persistent_row, RowOrder::query_len};
  EXPECT_EQ(policies_of_cause("skipped-step-forgets-accepted-count+row_order=query_len").value(),
            expected);
}

TEST(FaultCause, OfBugsThatFitEquallyHasTheirPolicies) {
  EXPECT_EQ(policies_of_cause("resumed-tail-runs-as-decode or one-token-first-chunk-as-decode+"
                              "row_order=query_len")
                .value(),
            (PolicyOverrides{RowClassing::by_shape_past_the_prompt, RowOrder::query_len}));
}

TEST(FaultCause, ThatIsNoneIsRefused) {
  EXPECT_FALSE(policies_of_cause("mid-block-chunk-poisons-slot+").ok());
  EXPECT_EQ(policies_of_cause("row_order=query").error().message,
            "there is no policy with this value: row_order=query");
  EXPECT_FALSE(policies_of_cause("row_oder=query_len").ok());
}

}  // namespace
}  // namespace hybridscope::test::fault_cause_test
