// Memory that goes wrong although every decision is right. One attention and one mamba group,
// W = 4, blocks of 8 tokens; A's prompt has 6 tokens, and its first running state is in block 2.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sessions/run/step_judge.h"
#include "tests/core/check/expected_finding.h"
#include "tests/core/check/hashed_run.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::planted_hashes_test {
namespace {

constexpr std::int32_t kConv = 0;
constexpr std::int32_t kTemporal = 1;

HashedRun run_of(const SmallEngine& small) {
  const EngineConfig config = engine_config(small);
  return HashedRun(config, make_check_config(config),
                   make_state_memory(config.kv_cache_config, {}).value());
}

HashedRun run_with_a(const SmallEngine& small = {}) {
  HashedRun run = run_of(small);
  run.apply(request_of(6, 12, 1));
  EXPECT_TRUE(nothing_found(run.step()));
  return run;
}

MemoryFault change_before_step(std::int32_t state, std::int32_t block, std::int64_t offset) {
  return {.before_step = [=](BlockBytes& bytes, const StateOps&) {
    bytes.byte(block, state, offset) ^= std::byte{1};
  }};
}

TEST(PlantedHashes, NothingIsFoundInMemoryThatFollowsTheDecisions) {
  HashedRun run = run_with_a({.num_speculative_tokens = 2});
  while (!run.done()) EXPECT_TRUE(nothing_found(run.step()));
  EXPECT_GT(run.num_copies(), 0);
}

TEST(PlantedHashes, AChangedByteIsFoundBeforeItIsRead) {
  HashedRun run = run_with_a();
  EXPECT_TRUE(found_only(run.step(change_before_step(kTemporal, 2, 17)),
                         {{.rule = Rule::state_changed,
                           .step = 2,
                           .request = 0,
                           .group = 1,
                           .content = ContentKind::temporal,
                           .column = 0,
                           .block = 2,
                           .detail = "before the forward pass",
                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 6}}}));
  EXPECT_TRUE(nothing_found(run.step()));  // once
}

TEST(PlantedHashes, AChangedConvPositionIsFoundBeforeItIsRead) {
  HashedRun run = run_with_a();
  EXPECT_TRUE(found_only(run.step(change_before_step(kConv, 2, 3)),
                         {{.rule = Rule::state_changed,
                           .step = 2,
                           .content = ContentKind::conv,
                           .block = 2,
                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 6}}}));
}

// A step that tells no window says nothing about windows.
TEST(PlantedHashes, AStepWithoutBlocksForgetsNothing) {
  HashedRun run = run_with_a();
  EXPECT_TRUE(nothing_found(run.step({.tells_nothing = true})));
  EXPECT_TRUE(nothing_found(run.step()));
  EXPECT_TRUE(found(run.step(change_before_step(kConv, 2, 3)),
                    {.rule = Rule::state_changed, .content = ContentKind::conv, .block = 2}));
}

// Runs until a step makes a copy, with the fault in that step.
std::optional<std::vector<Finding>> first_copies_with(HashedRun& run, const MemoryFault& fault) {
  std::vector<Finding> found;
  while (!run.done()) {
    const auto step = run.step(fault);
    found.assign(step.begin(), step.end());
    if (!run.ops().copies.empty()) return found;
  }
  return std::nullopt;
}

// A's state moves from block 2 to the next running block before token 9 is computed.
TEST(PlantedHashes, ACopyThatDidNotRun) {
  HashedRun run = run_with_a();
  const auto found = first_copies_with(run, {.drops_copies = true});
  ASSERT_TRUE(found);
  const StateCopyOp copy = run.ops().copies.front();
  EXPECT_EQ(copy.temporal_src_block, 2);
  EXPECT_TRUE(found_only(*found, {{.rule = Rule::copy_differs,
                                   .request = 0,
                                   .group = 1,
                                   .content = ContentKind::temporal,
                                   .block = copy.dst_block,
                                   .expected = 2},
                                  {.rule = Rule::copy_differs,
                                   .content = ContentKind::conv,
                                   .block = copy.dst_block,
                                   .expected = 2}}));
  EXPECT_EQ(found->front().cause.kind, WriteKind::pre_copy);
  EXPECT_EQ(found->front().cause.step, run.num_steps());
}

// With drafts the window moves by the accepted ones, and is told position by position.
TEST(PlantedHashes, ACopyThatForgetsToShiftTheWindow) {
  HashedRun run = run_with_a({.num_speculative_tokens = 2});
  std::vector<Finding> all;
  bool shifted = false;
  while (!run.done()) {
    const auto step = run.step({.copies_whole_windows = true});
    all.insert(all.end(), step.begin(), step.end());
    shifted |= std::ranges::any_of(
        run.ops().copies, [](const StateCopyOp& copy) { return copy.accept_token_bias > 0; });
  }
  ASSERT_TRUE(shifted);
  EXPECT_TRUE(found(all, {.rule = Rule::copy_differs, .content = ContentKind::conv}));
  EXPECT_FALSE(found(all, {.rule = Rule::copy_differs, .content = ContentKind::temporal}));
}

// The recurrent kernel stores A's state elsewhere, the conv kernel its window where it belongs.
TEST(PlantedHashes, AStateThatIsNotStoredWhereItsWindowIs) {
  HashedRun run = run_with_a();
  std::vector<std::byte> before;
  const MemoryFault fault{
      .before_step = [&](BlockBytes& bytes, const StateOps&) { before = bytes.save(2, kTemporal); },
      .in_forward = [&](BlockBytes& bytes,
                        const StateOps&) { bytes.restore(2, kTemporal, before); }};
  EXPECT_TRUE(found_only(run.step(fault), {{.rule = Rule::write_missing,
                                            .step = 2,
                                            .request = 0,
                                            .content = ContentKind::temporal,
                                            .block = 2}}));
}

// Two requests: the decode of A stores its state in B's block.
TEST(PlantedHashes, AWriteToAnotherRequestsBlock) {
  HashedRun run = run_of({});
  run.apply(request_of(6, 12, 1));
  run.apply(request_of(5, 12, 2));
  EXPECT_TRUE(nothing_found(run.step()));
  EXPECT_TRUE(nothing_found(run.step()));
  const std::int32_t a = run.ops().rows[0].temporal_src_block;
  const std::int32_t b = run.ops().rows[1].temporal_src_block;
  std::vector<std::byte> before;
  const MemoryFault fault{
      .before_step = [&](BlockBytes& bytes, const StateOps&) { before = bytes.save(a, kConv); },
      .in_forward =
          [&](BlockBytes& bytes, const StateOps&) {
            bytes.copy(a, b);
            bytes.restore(a, kConv, before);
          }};
  EXPECT_TRUE(
      found_only(run.step(fault), {{.rule = Rule::state_unchanged, .request = 0, .block = a}}));
  // B's own row wrote its block in the same step, so only A's loss can be seen.
}

// The block keeps its state for whoever hits it, and nobody writes there: it is looked at when its
// turn comes.
TEST(PlantedHashes, AWriteToARegisteredBlock) {
  HashedRun run = run_of({});
  run.apply(request_of(6, 60, 1));
  while (run.ops().copies.empty()) (void)run.step();
  const std::int32_t registered = run.ops().copies.front().temporal_src_block;
  EXPECT_TRUE(nothing_found(run.step()));
  std::vector<Finding> all;
  const MemoryFault fault{.in_forward = [&](BlockBytes& bytes, const StateOps&) {
    bytes.byte(registered, kTemporal, 0) ^= std::byte{1};
  }};
  bool planted = false;
  for (int i = 0; i < 40 && !run.done(); ++i) {
    const auto step = run.step(planted ? MemoryFault{} : fault);
    planted = true;
    all.insert(all.end(), step.begin(), step.end());
  }
  EXPECT_TRUE(found(
      all, {.rule = Rule::state_changed, .content = ContentKind::temporal, .block = registered}));
}

TEST(PlantedHashes, AForwardPassThatChangesNothingIsAWarning) {
  HashedRun run = run_with_a();
  EXPECT_TRUE(found_only(run.step({.drops_forward = true}), {{.rule = Rule::state_unchanged,
                                                              .step = 2,
                                                              .request = 0,
                                                              .group = 1,
                                                              .content = ContentKind::temporal,
                                                              .block = 2}}));
}

}  // namespace
}  // namespace hybridscope::test::planted_hashes_test
