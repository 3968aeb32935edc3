// Bytes that something else changed. One attention and one mamba group, W = 4, blocks of 8 tokens:
// layer 1's states are a conv window of 3 positions with 8 channels and a recurrent state of 32
// elements.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/run/step_judge.h"
#include "tests/core/check/checked_runs.h"
#include "tests/core/check/expected_finding.h"
#include "tests/core/check/planted.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::planted_bytes_test {
namespace {

constexpr std::int32_t kConv = 0;
constexpr std::int32_t kTemporal = 1;

std::unique_ptr<CpuStateBackend> backend_of(const EngineConfig& config) {
  return CpuStateBackend::create(make_state_memory(config.kv_cache_config, {}).value()).value();
}

class PlantedBytes : public ::testing::Test {
 protected:
  explicit PlantedBytes(CheckScope scope = CheckScope::all)
      : backend_(backend_of(config_)), run_(scope, config_) {
    run_.keep_state_in(*backend_);
    run_.add(request_of(6, 8, 1));
  }
  // Where an element of the only layer begins; little endian.
  std::byte& first_byte(std::int32_t state, std::int32_t block, std::int64_t i) {
    const StateMemory& memory = backend_->memory();
    const auto kind = static_cast<std::size_t>(state);
    return backend_->bytes()[static_cast<std::size_t>(block * memory.page_size_bytes +
                                                      memory.state_offsets[kind] +
                                                      i * memory.layout.state_elem_sizes[kind])];
  }
  void change(std::int32_t state, std::int32_t block, std::int64_t i) {
    first_byte(state, block, i) ^= std::byte{1};
  }

  EngineConfig config_ = engine_config({});
  std::unique_ptr<CpuStateBackend> backend_;
  PlantedRun run_;
};

class PlantedBytesOfTheStep : public PlantedBytes {
 protected:
  PlantedBytesOfTheStep() : PlantedBytes(CheckScope::step) {}
};

// Request A's state is in block 2. Its prefill left the state of 6 tokens there.
TEST_F(PlantedBytes, ChangedElementOfATemporalState) {
  run_.steps(1);
  EXPECT_TRUE(nothing_found(run_.findings()));
  std::uint32_t right = 0;
  std::memcpy(&right, &first_byte(kTemporal, 2, 17), sizeof(right));
  change(kTemporal, 2, 17);
  run_.add(request_of(8, 1, 2)).apply(SetStepBudget{0}).steps(1);
  EXPECT_TRUE(found_only(run_.findings(), {{.rule = Rule::state_bytes_wrong,
                                            .step = 2,
                                            .request = 0,
                                            .row = -1,
                                            .group = 1,
                                            .content = ContentKind::temporal,
                                            .block = 2,
                                            .expected = right,
                                            .seen = right ^ 1u,
                                            .detail = "not written in this step",
                                            .cause = ExpectedCause{WriteKind::prefill, 1, 0, 6},
                                            .layer = 1,
                                            .state = kTemporal,
                                            .element = 17}}));
}

// Element 0 is part of the fingerprint: what the next step folds is wrong in every element.
TEST_F(PlantedBytesOfTheStep, ChangedFingerprintIsFoldedOn) {
  run_.steps(1);
  change(kTemporal, 2, 0);
  run_.steps(1);
  EXPECT_TRUE(found_only(run_.findings(), {{.rule = Rule::state_bytes_wrong,
                                            .step = 2,
                                            .content = ContentKind::temporal,
                                            .block = 2,
                                            .detail = "written in this step",
                                            .cause = ExpectedCause{WriteKind::decode, 2, 0, 7},
                                            .element = 0}}));
}

// Position 2, channel 5. The next step shifts it to position 1.
TEST_F(PlantedBytesOfTheStep, ChangedConvPositionMovesWithItsWindow) {
  run_.steps(1);
  change(kConv, 2, 21);
  run_.steps(1);
  EXPECT_TRUE(found_only(run_.findings(), {{.rule = Rule::state_bytes_wrong,
                                            .step = 2,
                                            .content = ContentKind::conv,
                                            .block = 2,
                                            .layer = 1,
                                            .state = kConv,
                                            .element = 13}}));
}

TEST_F(PlantedBytes, BlockThatNobodyWroteHoldsPoison) {
  change(kTemporal, 40, 3);
  run_.steps(1);
  EXPECT_TRUE(found_only(
      run_.findings(),
      {{.rule = Rule::state_bytes_wrong,
        .request = -1,
        .group = 1,
        .block = 40,
        .expected = 0xDEADDEAD,
        .seen = 0xDEADDEAC,
        .cause = ExpectedCause{.kind = WriteKind::never, .step = 0, .request = -1, .num_tokens = 0},
        .element = 3}}));
}

TEST_F(PlantedBytesOfTheStep, LooksOnlyAtWhatTheStepWrote) {
  change(kTemporal, 40, 3);
  run_.finish();
  EXPECT_TRUE(nothing_found(run_.findings()));
}

TEST(StateMirror, RefusesConvWindowsWithoutRoomForDrafts) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  std::get<MambaSpec>(config.kv_cache_config.groups[1].spec).states[0].shape = {3, 8};
  const auto backend = backend_of(config);
  const auto mirror = StateMirror::create(make_check_config(config), *backend);
  ASSERT_FALSE(mirror.ok());
  EXPECT_EQ(mirror.error().message,
            "conv windows have 3 positions, expected 5: a verify row would write past them (known "
            "bug conv-state-not-sized-for-spec)");
}

TEST(StateMirror, RefusesAMemoryOfAnotherModel) {
  const EngineConfig config = engine_config({});
  const auto backend = backend_of(config);
  CheckConfig larger = make_check_config(config);
  larger.kv_cache_config.num_blocks = 65;
  EXPECT_EQ(StateMirror::create(larger, *backend).error().message,
            "the memory has 64 blocks, expected 65");
  CheckConfig more_groups = make_check_config(config);
  more_groups.kv_cache_config.groups.push_back(more_groups.kv_cache_config.groups[1]);
  EXPECT_EQ(StateMirror::create(more_groups, *backend).error().message,
            "the memory and the checker have different KV cache groups");
}

// Memory that goes wrong although every decision is right. One attention and one mamba group,
// W = 4, blocks of 8 tokens; A's prompt has 6 tokens, and its first running state is in block 2.

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
}  // namespace hybridscope::test::planted_bytes_test
