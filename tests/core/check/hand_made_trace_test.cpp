// Execute and check run from a trace alone: this program does not link core/engine.
#include "tests/core/check/hand_made_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/core/check/expected_finding.h"

namespace hybridscope::test::hand_made_trace_test {
namespace {

using testing::ElementsAre;

// A has 7 prompt tokens: attention block 1, mamba block 2.
HandMadeTrace prefill_of_a() {
  HandMadeTrace step(1);
  step.allocate(0, 0, 0, 1)
      .allocate(0, 1, 0, 2)
      .rows({{.request = 0,
              .computed = 0,
              .query = 7,
              .known = 7,
              .admission = Admission::new_request,
              .attention_blocks = {1},
              .mamba_blocks = {2}}});
  return step;
}

// Its eighth token fills both blocks, which are registered.
HandMadeTrace decode_to_the_boundary() {
  HandMadeTrace step(2);
  step.register_block(0, 0, 0, 1)
      .register_block(0, 1, 0, 2)
      .rows({{.request = 0,
              .computed = 7,
              .query = 1,
              .known = 8,
              .attention_blocks = {1},
              .mamba_blocks = {2}}});
  return step;
}

// The ninth goes to new blocks; the state is copied from column 0 to column 1 first.
HandMadeTrace decode_past_the_boundary() {
  HandMadeTrace step(3);
  step.allocate(0, 0, 1, 3)
      .allocate(0, 1, 1, 4)
      .rows({{.request = 0,
              .computed = 8,
              .query = 1,
              .known = 9,
              .attention_blocks = {1, 3},
              .mamba_blocks = {2, 4}}});
  step.pre_copy(0, 0, 1);
  return step;
}

TEST(HandMadeTrace, IsExecutedAndChecked) {
  StepChecker checker = StepChecker::create(hand_made_config()).value();
  const HandMadeTrace steps[] = {prefill_of_a(), decode_to_the_boundary(),
                                 decode_past_the_boundary()};
  for (const HandMadeTrace& step : steps)
    EXPECT_TRUE(nothing_found(checker.check(step.trace(), CheckScope::all)));
  const SymbolicState& state = checker.state().state;
  EXPECT_EQ(state.temporal(2).fingerprint, hand_made_prefix(0, 8));
  EXPECT_EQ(state.temporal(4).fingerprint, hand_made_prefix(0, 9));
  EXPECT_THAT(state.conv(4),
              ElementsAre(hand_made_prefix(0, 7), hand_made_prefix(0, 8), hand_made_prefix(0, 9)));
  EXPECT_EQ(state.attention(1).filled, 8);
  EXPECT_EQ(state.attention(1).last, hand_made_prefix(0, 8));
  EXPECT_EQ(state.attention(3).filled, 1);
  EXPECT_TRUE(checker.state().labels[2].registered);
  EXPECT_EQ(checker.state().labels[2].num_tokens, 8);
  EXPECT_THAT(checker.state().tables.block_ids({0}, 1), ElementsAre(2, 4));
}

TEST(HandMadeTrace, MissingCopyIsFound) {
  StepChecker checker = StepChecker::create(hand_made_config()).value();
  const HandMadeTrace first = prefill_of_a();
  const HandMadeTrace second = decode_to_the_boundary();
  HandMadeTrace third = decode_past_the_boundary();
  third.trace().pre_copies.clear();
  EXPECT_TRUE(nothing_found(checker.check(first.trace())));
  EXPECT_TRUE(nothing_found(checker.check(second.trace())));
  EXPECT_TRUE(found(checker.check(third.trace()), {.rule = Rule::read_of_unwritten_block,
                                                   .step = 3,
                                                   .request = 0,
                                                   .group = 1,
                                                   .content = ContentKind::temporal,
                                                   .column = 1,
                                                   .block = 4,
                                                   .expected = 8,
                                                   .cause = ExpectedCause{}}));
}

TEST(HandMadeTrace, LostPrefillIsFoundByTheNextRowAndByTheLabel) {
  StepChecker checker = StepChecker::create(hand_made_config()).value();
  HandMadeTrace first = prefill_of_a();
  first.trace().tokens[6] = 99;
  const HandMadeTrace second = decode_to_the_boundary();
  EXPECT_TRUE(nothing_found(checker.check(first.trace())));
  const auto findings = checker.check(second.trace());
  EXPECT_TRUE(found(findings, {.rule = Rule::running_state_wrong,
                               .step = 2,
                               .request = 0,
                               .content = ContentKind::temporal,
                               .block = 2,
                               .expected = 7,
                               .seen = 7,
                               .cause = ExpectedCause{WriteKind::prefill, 1, 0, 7}}));
  EXPECT_TRUE(found(findings, {.rule = Rule::label_mismatch,
                               .step = 2,
                               .group = 1,
                               .content = ContentKind::temporal,
                               .block = 2,
                               .expected = 8,
                               .seen = 8,
                               .cause = ExpectedCause{WriteKind::decode, 2, 0, 8}}));
  EXPECT_TRUE(found(findings, {.rule = Rule::attention_slot_unwritten,
                               .step = 2,
                               .cause = ExpectedCause{WriteKind::attention, 1, 0, 7}}));
}

// Known bug 43: A registers blocks 1 and 2 as 8 tokens in the very step in which B hits them. The
// caching stack refuses such a hit under every policy, so only a trace from elsewhere has it.
TEST(HandMadeTrace, HitOnABlockOfThisStepReadsAStateThatIsNotThereYet) {
  StepChecker checker = StepChecker::create(hand_made_config()).value();
  HandMadeTrace step(1);
  step.allocate(0, 0, 0, 1).allocate(0, 1, 0, 2);
  step.register_block(0, 0, 0, 1).register_block(0, 1, 0, 2);
  step.share(1, 0, 0, 1).allocate(1, 0, 1, 3).share(1, 1, 0, 2).allocate(1, 1, 1, 4);
  step.rows({{.request = 0,
              .computed = 0,
              .query = 8,
              .known = 8,
              .admission = Admission::new_request,
              .attention_blocks = {1},
              .mamba_blocks = {2}},
             {.request = 1,
              .computed = 8,
              .query = 2,
              .known = 10,
              .admission = Admission::new_request,
              .hit = 8,
              .attention_blocks = {1, 3},
              .mamba_blocks = {2, 4}}});
  step.pre_copy(1, 0, 1);
  const auto findings = checker.check(step.trace());
  EXPECT_TRUE(found(findings, {.rule = Rule::read_of_unwritten_block,
                               .step = 1,
                               .request = 1,
                               .group = 1,
                               .content = ContentKind::temporal,
                               .column = 0,
                               .block = 2,
                               .detail = "copied from a state that was never written"}));
  // The attention block is filled before anything reads it.
  EXPECT_TRUE(std::ranges::none_of(findings, [](const Finding& one) { return one.group == 0; }));
}

TEST(HandMadeTrace, SameHitAStepLaterIsFine) {
  StepChecker checker = StepChecker::create(hand_made_config()).value();
  HandMadeTrace first(1);
  first.allocate(0, 0, 0, 1).allocate(0, 1, 0, 2);
  first.register_block(0, 0, 0, 1).register_block(0, 1, 0, 2);
  first.rows({{.request = 0,
               .computed = 0,
               .query = 8,
               .known = 8,
               .admission = Admission::new_request,
               .attention_blocks = {1},
               .mamba_blocks = {2}}});
  EXPECT_TRUE(nothing_found(checker.check(first.trace())));
  HandMadeTrace second(2);
  second.share(1, 0, 0, 1).allocate(1, 0, 1, 3).share(1, 1, 0, 2).allocate(1, 1, 1, 4);
  second.rows({{.request = 1,
                .computed = 8,
                .query = 2,
                .known = 10,
                .admission = Admission::new_request,
                .hit = 8,
                .attention_blocks = {1, 3},
                .mamba_blocks = {2, 4}}});
  second.pre_copy(0, 0, 1);
  EXPECT_TRUE(nothing_found(checker.check(second.trace(), CheckScope::all)));
}

TEST(StepChecker, StepWithoutRowsIsFine) {
  StepChecker checker = StepChecker::create(hand_made_config()).value();
  const HandMadeTrace idle(1);
  EXPECT_TRUE(nothing_found(checker.check(idle.trace(), CheckScope::all)));
}

TEST(StepChecker, RefusesSizesThatTheTraceHasNoRoomFor) {
  const auto refuses = [](const std::function<void(CheckConfig&)>& change) {
    CheckConfig config = hand_made_config();
    change(config);
    return !StepChecker::create(config).ok();
  };
  EXPECT_FALSE(refuses([](CheckConfig&) {}));
  EXPECT_TRUE(refuses([](CheckConfig& config) { config.conv_kernel = 1; }));
  EXPECT_TRUE(refuses([](CheckConfig& config) { config.conv_kernel = 9; }));
  EXPECT_TRUE(refuses([](CheckConfig& config) { config.kv_cache_config.num_blocks = 1; }));
  EXPECT_TRUE(refuses([](CheckConfig& config) { config.num_speculative_tokens = -1; }));
  EXPECT_TRUE(refuses([](CheckConfig& config) { config.hash_block_size = 0; }));
}

}  // namespace
}  // namespace hybridscope::test::hand_made_trace_test
