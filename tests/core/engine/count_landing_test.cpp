// Asynchronously the accepted counts of the frame before are copied to the host array while the
// next frame moves its rows (known bug 9; semantics: accepted-counts-v1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/worker_v1_policies.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::count_landing_test {
namespace {

// Two verify rows that accept everything; the first one ends and a prompt takes its row, so that
// the other one changes places with it: rows [D1, D2], then [P, D2] -> [D2, P].
std::vector<Finding> run(AcceptedCountLanding landing, std::int32_t num_speculative_tokens = 2,
                         double acceptance_rate = 1.0) {
  EngineConfig config =
      engine_config({.num_speculative_tokens = num_speculative_tokens, .max_num_seqs = 2});
  config.async_scheduling = true;
  config.acceptance_rate = acceptance_rate;
  config.policies.set(AcceptedCountOwner::persistent_row);
  config.policies.set(landing);
  CheckedEngine engine(config);
  engine.add(request_of(5, 4, 1));   // D1
  engine.add(request_of(5, 30, 2));  // D2
  engine.add(request_of(9, 1, 3));   // P
  engine.finish();
  return engine.findings();
}

TEST(AcceptedCountLanding, AfterTheRowsMovedEachCountIsGatheredFromItsOldRow) {
  EXPECT_TRUE(run(AcceptedCountLanding::after_row_moves).empty());
}

TEST(AcceptedCountLanding, BeforeTheRowsMoveTheCountsArePermutedTwice) {
  const std::vector<Finding> findings = run(AcceptedCountLanding::before_row_moves);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().rule, Rule::foreign_row_datum);
  EXPECT_EQ(findings.front().detail, "accepted count of another request");
  EXPECT_EQ(findings.front().request, RequestId{1});
}

// Without acceptance every count is 1, so that a count of another row is right too.
TEST(AcceptedCountLanding, CountsThatAreEqualDoNoHarm) {
  EXPECT_TRUE(run(AcceptedCountLanding::before_row_moves, 2, 0.0).empty());
}

TEST(AcceptedCountLanding, WithoutDraftsNothingIsCountedOrGathered) {
  EXPECT_TRUE(run(AcceptedCountLanding::before_row_moves, 0).empty());
}

// D ends and Q takes its row while P computes its prompt in chunks: rows [D, P], then [Q, P] ->
// [P, Q]. P sampled nothing in the frame before, so it has no count there and keeps its own 1.
TEST(AcceptedCountLanding, AChunkOfAPromptHasNoCountToGather) {
  EngineConfig config =
      engine_config({.block_size = 4, .num_speculative_tokens = 2, .max_num_seqs = 2});
  config.async_scheduling = true;
  config.acceptance_rate = 1.0;
  config.long_prefill_token_threshold = 4;
  config.policies.set(AcceptedCountOwner::persistent_row);
  config.policies.set(AcceptedCountLanding::before_row_moves);
  CheckedEngine engine(config);
  engine.add(request_of(5, 4, 1));   // D
  engine.add(request_of(60, 1, 2));  // P
  engine.add(request_of(9, 1, 3));   // Q
  engine.finish();
  EXPECT_TRUE(engine.findings().empty());
}

}  // namespace
}  // namespace hybridscope::test::count_landing_test
