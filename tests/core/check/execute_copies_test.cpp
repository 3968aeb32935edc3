#include "core/check/execute_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/check/expected_finding.h"
#include "tests/core/check/row_bench.h"

namespace hybridscope::test::execute_copies_test {
namespace {

using testing::ElementsAre;

struct BenchCopy {
  std::int32_t row = 0;
  std::int32_t src = 0;       // conv source; temporal source unless given
  std::int32_t temporal = 0;  // 0: as src
  std::int32_t dst = 0;
  std::int32_t dst_column = 0;
  std::int32_t bias = 0;
};

CopyLaunch launch_of(std::initializer_list<BenchCopy> copies) {
  CopyLaunch launch;
  for (const BenchCopy& copy : copies) {
    StateCopyDecision decision;
    decision.outcome = StateCopyOutcome::copy;
    decision.accept_token_bias = copy.bias;
    decision.dst_col = copy.dst_column;
    launch.copies.push_back({.decision = static_cast<std::int32_t>(launch.decisions.size()),
                             .group = 0,
                             .conv_src_block = copy.src,
                             .temporal_src_block = copy.temporal > 0 ? copy.temporal : copy.src,
                             .dst_block = copy.dst,
                             .accept_token_bias = copy.bias});
    launch.decisions.push_back({.request = {copy.row}, .row = copy.row, .decision = decision});
  }
  return launch;
}

void execute(RowBench& bench, const CopyLaunch& launch) {
  CopyExecutor(bench.shared().config).execute(bench.context(), launch, WriteKind::post_copy);
}

TEST(CopyExecutor, CopiesStateAndWindowAndNamesTheWrite) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  bench.put(2, 0, 8);
  execute(bench, launch_of({{.src = 2, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(3, 0), 8);
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(6, 7, 8));
  const WriteEvent& event = bench.state().temporal(3).event;
  EXPECT_EQ(event.kind, WriteKind::post_copy);
  EXPECT_EQ(event.step, 2);
  EXPECT_EQ(event.request, RequestId{0});
  EXPECT_EQ(event.num_tokens, 8);
  EXPECT_EQ(bench.state().conv_event(3).kind, WriteKind::post_copy);
  EXPECT_NE(bench.state().conv_event(3).ordinal, event.ordinal);
}

TEST(CopyExecutor, ShiftTakesPositionsFromTheBiasOn) {
  // W = 4, K = 2: five positions. Bias 2 leaves the last two positions of the target alone.
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 9, .query = 3, .blocks = {2, 3, 4}}});
  bench.put_conv(3, 0, {5, 6, 7, 8, 9});
  bench.put_state(4, 0, 8);
  bench.put_conv(2, 0, {1, 2, 3, 4, 5});
  execute(bench, launch_of({{.src = 3, .temporal = 4, .dst = 2, .bias = 2}}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 8);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(7, 8, 9, 4, 5));
}

TEST(CopyExecutor, ShiftInsideOneBlockMovesEachTokenOnce) {  // known bug 4: memmove
  RowBench bench({.num_speculative_tokens = 2},
                 {{.computed = 13, .query = 3, .blocks = {2, 3, 4}}});
  bench.put_conv(2, 0, {12, 13, 14, 15, 16});
  bench.put_state(4, 0, 16);
  execute(bench, launch_of({{.src = 2, .temporal = 4, .dst = 2, .bias = 2}}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(14, 15, 16, 15, 16));
  EXPECT_EQ(bench.state_of(2, 0), 16);
}

TEST(CopyExecutor, EverySourceIsReadBeforeAnythingIsWritten) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  bench.put(2, 0, 4);
  bench.put(3, 0, 8);
  execute(bench, launch_of({{.src = 2, .dst = 3, .dst_column = 1}, {.src = 3, .dst = 2}}));
  EXPECT_EQ(bench.state_of(2, 0), 8);
  EXPECT_EQ(bench.state_of(3, 0), 4);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(2, 3, 4));
  // On a device the outcome would depend on which copy runs first.
  EXPECT_TRUE(
      found_only(bench.findings(), {{.rule = Rule::conflicting_copies,
                                     .step = 2,
                                     .block = 2,
                                     .detail = "a copy reads what another copy writes"},
                                    {.rule = Rule::conflicting_copies, .step = 2, .block = 3}}));
}

TEST(CopyExecutor, TwoCopiesIntoOneBlockConflict) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3, 4}}});
  bench.put(2, 0, 4);
  bench.put(3, 0, 8);
  execute(bench, launch_of({{.src = 2, .dst = 4, .dst_column = 2},
                            {.src = 3, .dst = 4, .dst_column = 2}}));
  EXPECT_TRUE(found_only(
      bench.findings(),
      {{.rule = Rule::conflicting_copies, .block = 4, .detail = "two copies write the block"}}));
}

TEST(CopyExecutor, ConflictsOfOneLaunchAreForgottenInTheNext) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3, 4}}});
  bench.put(2, 0, 8);
  CopyExecutor executor(bench.shared().config);
  const auto copy = [&](std::int32_t src, std::int32_t dst, std::int32_t column) {
    executor.execute(bench.context(), launch_of({{.src = src, .dst = dst, .dst_column = column}}),
                     WriteKind::pre_copy);
  };
  copy(2, 3, 1);
  copy(3, 4, 2);
  copy(4, 3, 1);
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(3, 0), 8);
}

TEST(CopyExecutor, UnwrittenSourceIsToldAndStaysUnwritten) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  execute(bench, launch_of({{.src = 2, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(
      found_only(bench.findings(), {{.rule = Rule::read_of_unwritten_block,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .block = 2,
                                     .detail = "copied from a state that was never written"}}));
  EXPECT_EQ(bench.state_of(3, 0), kUnwritten);
}

TEST(CopyExecutor, SourcesBelongToTheRequest) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}},
                      {.computed = 8, .query = 1, .blocks = {4}}});
  bench.put(4, 1, 8);
  bench.put(9, 0, 8);  // no request's block
  execute(bench, launch_of({{.src = 4, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(found_only(bench.findings(), {{.rule = Rule::foreign_row_datum,
                                             .request = 0,
                                             .content = ContentKind::temporal,
                                             .block = 4}}));
  bench.findings().clear();
  execute(bench, launch_of({{.src = 9, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(found_only(
      bench.findings(),
      {{.rule = Rule::read_of_unwritten_block, .block = 9, .detail = "read of a freed block"}}));
}

}  // namespace
}  // namespace hybridscope::test::execute_copies_test
