#include "sessions/breakpoint/break_condition.h"

#include <gtest/gtest.h>

namespace hybridscope::test::break_condition_test {
namespace {

std::string name_of(RequestId request) {
  return std::string(1, static_cast<char>('A' + request.value));
}

// Two rows: A decodes with 2 accepted tokens, B prefills. A's post-copy shifts within column 1,
// block 17 was registered, block 9 freed, and block 17's state was written.
class BreakConditionTest : public testing::Test {
 protected:
  BreakConditionTest() {
    trace_.step = 12;
    trace_.num_free_blocks = 5;
    for (const std::int32_t request : {0, 1}) {
      trace_.scheduled.push_back(
          {.request = {request}, .num_scheduled_tokens = request == 0 ? 3 : 40});
      trace_.rows.push_back({.request = {request}, .scheduled = request});
    }
    trace_.rows[0].row_class = RowClass::verify;
    trace_.rows[0].num_accepted_tokens = 2;
    trace_.rows[1].row_class = RowClass::prefill;
    trace_.rows[1].num_accepted_tokens = 1;
    CopyDecisionTrace shift{.request = {0}, .row = 0, .decision = {}};
    shift.decision.outcome = StateCopyOutcome::within_block_shift;
    shift.decision.src_col = shift.decision.dst_col = 1;
    shift.decision.accept_token_bias = 1;
    trace_.post_copies.decisions.push_back(shift);
    CopyDecisionTrace none{.request = {1}, .row = 1, .decision = {}};
    none.decision.outcome = StateCopyOutcome::no_boundary;
    none.decision.src_col = 0;
    none.decision.dst_col = 2;
    trace_.post_copies.decisions.push_back(none);
    trace_.cache_events = {
        {.kind = CacheEventKind::registered, .group = 1, .request = {0}, .column = 1, .block = 17},
        {.kind = CacheEventKind::freed, .group = 1, .request = {1}, .block = 9}};
    writes_.push_back({.event = {.request = {0}}, .group = 1, .block = 17});
  }
  // "" where it does not hold.
  std::string hit(std::string_view text) {
    auto condition = BreakCondition::parse(text);
    EXPECT_TRUE(condition.ok()) << condition.error().message;
    if (!condition.ok()) return "error";
    const auto found = condition.value().holds({trace_, findings_, writes_}, name_of);
    if (!found) return "";
    return found->words.empty() ? "yes" : found->words;
  }
  StepTrace trace_;
  std::vector<Finding> findings_;
  std::vector<StateWrite> writes_;
};

TEST_F(BreakConditionTest, HoldsForOneThingOfAKind) {
  EXPECT_EQ(hit("copy.src_col==copy.dst_col && copy.accept_token_bias>0"),
            "copy of A: src_col 1, dst_col 1, accept_token_bias 1");
  EXPECT_EQ(hit("copy.src_col==0 && copy.accept_token_bias>0"), "");
  EXPECT_EQ(hit("copy.outcome == within_block_shift"), "copy of A: outcome within_block_shift");
}

TEST_F(BreakConditionTest, ThingsOfSeveralKindsAreOfOneRequest) {
  EXPECT_EQ(hit("copy.outcome==no_boundary && row.num_scheduled_tokens==40"),
            "decision of B (no boundary, no copy): outcome no_boundary; row of B: "
            "num_scheduled_tokens 40");
  EXPECT_EQ(hit("copy.outcome==no_boundary && row.num_scheduled_tokens==3"), "");
}

TEST_F(BreakConditionTest, RequestsAreCalledByTheirNames) {
  EXPECT_EQ(hit("row.request==A && row.num_accepted_tokens==2"),
            "row of A: request A, num_accepted_tokens 2");
  EXPECT_EQ(hit("row.request=='B' && row.num_accepted_tokens==2"), "");
  EXPECT_EQ(hit("row.request!=A && row.row_class==prefill"),
            "row of B: request B, row_class prefill");
}

TEST_F(BreakConditionTest, BlocksAreWhatHappenedToThem) {
  EXPECT_EQ(hit("block==17 && written"), "block 17, written");
  EXPECT_EQ(hit("block==9 && written"), "");
  EXPECT_EQ(hit("block==9 && freed"), "block 9, freed");
  EXPECT_EQ(hit("event.kind==registered && event.block==17"),
            "event of A: kind registered, block 17");
}

TEST_F(BreakConditionTest, TheStepsOwnNumbersNeedNoKind) {
  EXPECT_EQ(hit("step==12 && num_free_blocks<6"), "step 12, num_free_blocks 5");
  EXPECT_EQ(hit("num_reqs*2+1 == 5 && -num_free_blocks%3 == -2"), "num_reqs 2, num_free_blocks 5");
  EXPECT_EQ(hit("num_free_blocks/0 == 0"), "num_free_blocks 5");
  EXPECT_EQ(hit("step-12"), "");
}

TEST_F(BreakConditionTest, AFindingAloneIsWhetherThereIsOne) {
  EXPECT_EQ(hit("finding"), "");
  EXPECT_EQ(hit("!finding"), "yes");
  findings_.emplace_back();
  findings_[0].rule = Rule::label_mismatch;
  findings_[0].request = {1};
  EXPECT_EQ(hit("finding"), "yes");
  EXPECT_EQ(hit("finding.rule==label-mismatch"), "finding of B: rule label-mismatch");
  EXPECT_EQ(hit("finding.rule==label_mismatch && row.row_class==verify"), "");
}

TEST_F(BreakConditionTest, AKindThatTheStepHasNothingOfMakesComparisonsFalse) {
  EXPECT_EQ(hit("lookup.num_hit_tokens==0"), "");
  EXPECT_EQ(hit("lookup.num_hit_tokens!=0"), "");
  EXPECT_EQ(hit("lookup.num_hit_tokens==0 || step==12"), "step 12");
}

TEST_F(BreakConditionTest, OnlyWhatAsksAboutWritesNeedsTheirLog) {
  EXPECT_TRUE(BreakCondition::parse("block==17 && written").value().reads_writes());
  EXPECT_TRUE(BreakCondition::parse("write.block==17").value().reads_writes());
  EXPECT_FALSE(BreakCondition::parse("copy.src_col==1 || finding").value().reads_writes());
}

}  // namespace
}  // namespace hybridscope::test::break_condition_test
