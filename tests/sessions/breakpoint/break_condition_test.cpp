#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/breakpoint/break_condition.h"

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

// What is wrong with a break expression is said with its place.

std::string error_of(std::string_view text) {
  const auto condition = BreakCondition::parse(text);
  return condition.ok() ? "no error" : condition.error().message;
}

TEST(BreakErrors, AFieldThatThereIsNotIsMarkedWithTheNearestOne) {
  EXPECT_EQ(error_of("copy.srccol==copy.dst_col"),
            "no field is called copy.srccol, did you mean \"src_col\"?\n"
            "  copy.srccol==copy.dst_col\n"
            "       ^~~~~~");
  EXPECT_EQ(error_of("num_free_block < 3"),
            "no field is called num_free_block, did you mean \"num_free_blocks\"?\n"
            "  num_free_block < 3\n"
            "  ^~~~~~~~~~~~~~");
}

TEST(BreakErrors, AKindThatThereIsNot) {
  EXPECT_EQ(error_of("copies.src_col == 1"),
            "there is nothing called copies, there are copy, row, commit, command, lookup, event, "
            "write, finding, lookup_group, skipped, table, state_copy, metadata\n"
            "  copies.src_col == 1\n"
            "  ^~~~~~");
}

TEST(BreakErrors, AWordThatAFieldNeverIs) {
  EXPECT_EQ(error_of("row.row_class == decoding"),
            "row_class is never decoding, it is one of decode, verify, prefill, padding\n"
            "  row.row_class == decoding\n"
            "                   ^~~~~~~~");
}

TEST(BreakErrors, AComparisonThatMakesNoSense) {
  EXPECT_EQ(error_of("row.row_class > 1"),
            "row_class can only be compared with == and !=\n"
            "  row.row_class > 1\n"
            "  ^~~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("row.request == 3"),
            "a request cannot be compared with a number\n"
            "  row.request == 3\n"
            "  ^~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("row.request"),
            "row.request is not a condition: compare it, as in row.request == A\n"
            "  row.request\n"
            "  ^~~~~~~~~~~");
}

TEST(BreakErrors, TheGrammar) {
  EXPECT_EQ(error_of(""), "the expression is empty\n  \n  ^");
  EXPECT_EQ(error_of("step == "),
            "expected a field or a number, found the end\n  step == \n          ^");
  EXPECT_EQ(error_of("step = 3"),
            "\"=\" is not an operator, expected \"==\"\n  step = 3\n       ^");
  EXPECT_EQ(error_of("(step == 3"), "expected \")\"\n  (step == 3\n            ^");
  EXPECT_EQ(error_of("step == 3 4"),
            "expected an operator or the end, found \"4\"\n  step == 3 4\n            ^");
  EXPECT_EQ(error_of("step == 99999999999999999999"),
            "the number does not fit 64 bits\n  step == 99999999999999999999\n"
            "          ^~~~~~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("row.request == 'A"),
            "the quote is not closed\n  row.request == 'A\n                 ^~");
  EXPECT_EQ(error_of(std::string(200, '(')).substr(0, 17), "nested too deeply");
  EXPECT_EQ(error_of(std::string(200, '!') + "finding").substr(0, 17), "nested too deeply");
  std::string chain = "finding";
  for (int term = 1; term < 5001; ++term) chain += "||finding";  // and the end: 10002
  EXPECT_EQ(error_of(chain).substr(0, 55),
            "10002 words and operators, expected at most 10000\n  fin");
}

// The value of a field in the thing that a break expression picks.

using testing::ElementsAre;
using testing::IsEmpty;

// A decodes in row 0 and B prefills in row 1; group 1 is Mamba2 and its worker's block table is
// [2 3 9] for A, [4 0 5] for B. A's post-copy carries column 1 to column 0 in that group.
class BreakQueryTest : public testing::Test {
 protected:
  BreakQueryTest() {
    trace_.step = 12;
    for (const std::int32_t request : {0, 1}) {
      trace_.scheduled.push_back(
          {.request = {request}, .num_scheduled_tokens = request == 0 ? 3 : 40});
      trace_.rows.push_back({.request = {request}, .scheduled = request});
    }
    trace_.rows[0].row_class = RowClass::verify;
    CopyDecisionTrace back{.request = {0}, .row = 0, .decision = {}};
    back.decision.src_col = 1;
    back.decision.dst_col = 0;
    trace_.post_copies.decisions.push_back(back);
    trace_.post_copies.copies.push_back(
        {.decision = 0, .group = 1, .conv_src_block = 3, .temporal_src_block = 9, .dst_block = 2});
    Mamba2Metadata metadata;
    metadata.base.num_decodes = 1;
    metadata.base.state_indices_tensor_d = matrix_view(decode_blocks_, 1, 2);
    trace_.groups.emplace_back().group = 1;
    trace_.groups.back().metadata = metadata;
    trace_.groups.back().block_table = matrix_view(block_table_, 2, 3);
    trace_.lookups.emplace_back().request = {1};
    trace_.lookups.back().explanation.groups = {{.hit_length = 16}, {.hit_length = 8}};
    trace_.skipped.push_back({.request = {2}, .reason = SkipReason::max_num_seqs});
  }
  std::vector<std::int64_t> values(std::string_view field, std::string_view where) {
    auto query = BreakQuery::parse(field, where);
    EXPECT_TRUE(query.ok()) << query.error().message;
    return query.ok() ? query.value().values({trace_, {}, {}}, name_of)
                      : std::vector<std::int64_t>{-99};
  }
  const std::int32_t block_table_[6] = {2, 3, 9, 4, 0, 5};
  const std::int32_t decode_blocks_[2] = {3, 9};
  StepTrace trace_;
};

TEST_F(BreakQueryTest, GivesTheFieldOfTheThingThatIsPicked) {
  EXPECT_THAT(values("copy.src_col", "copy.request==A"), ElementsAre(1));
  EXPECT_THAT(values("row.num_scheduled_tokens", "row.row_class==verify"), ElementsAre(3));
  EXPECT_THAT(values("step", "true"), ElementsAre(12));
}

TEST_F(BreakQueryTest, GivesEveryValueOnceAndAscending) {
  EXPECT_THAT(values("row.num_scheduled_tokens", "true"), ElementsAre(3, 40));
  EXPECT_THAT(values("table.group", "table.request==A"), ElementsAre(1));
  EXPECT_THAT(values("table.grp", "table.request==A"), ElementsAre(1));  // its column's name
  EXPECT_THAT(values("copy.src_col", "copy.request==B"), IsEmpty());
}

TEST_F(BreakQueryTest, ThingsThatWhereNamesAreOfTheSameRequest) {
  EXPECT_THAT(values("row.request", "copy.src_col==1"), ElementsAre(0));
  EXPECT_THAT(values("row.request", "copy.src_col==0"), IsEmpty());
}

TEST_F(BreakQueryTest, BlockTablesAreAskedByColumn) {
  EXPECT_THAT(values("table.block", "table.request==B && table.group==1 && table.col==2"),
              ElementsAre(5));
  EXPECT_THAT(values("table.col", "table.block==0"), ElementsAre(1));
}

TEST_F(BreakQueryTest, MetadataIsAskedByNameAndPlace) {
  EXPECT_THAT(values("metadata.value",
                     "metadata.name==state_indices_tensor_d && metadata.i==0 && metadata.j==1"),
              ElementsAre(9));
  EXPECT_THAT(values("metadata.value", "metadata.name==num_decodes"), ElementsAre(1));
  EXPECT_THAT(values("metadata.value", "metadata.name==spec_token_indx"), IsEmpty());
}

TEST_F(BreakQueryTest, CopiesAreAskedByBlock) {
  EXPECT_THAT(values("state_copy.temporal_src_block", "state_copy.request==A"), ElementsAre(9));
  EXPECT_THAT(values("state_copy.launch", "state_copy.dst_block==2"), ElementsAre(1));
}

TEST_F(BreakQueryTest, LookupsAreAskedByGroupAndSkippedRequestsByReason) {
  EXPECT_THAT(values("lookup_group.hit_length", "lookup_group.group==0"), ElementsAre(16));
  EXPECT_THAT(values("skipped.request", "skipped.reason==max_num_seqs"), ElementsAre(2));
}

TEST_F(BreakQueryTest, FieldsHaveTypesAndWords) {
  const auto query = BreakQuery::parse("row.row_class", "row.request==A");
  ASSERT_TRUE(query.ok());
  const BreakField& field = query.value().field();
  EXPECT_EQ(field.type, BreakType::word);
  EXPECT_EQ(break_value_words(field, 1, name_of), "verify");
  EXPECT_EQ(break_value_words({.name = "copies", .type = BreakType::flag, .words = {}}, 0, name_of),
            "no");
  EXPECT_EQ(
      break_value_words({.name = "request", .type = BreakType::request, .words = {}}, 2, name_of),
      "C");
}

TEST_F(BreakQueryTest, OnlyWhatAsksAboutWritesNeedsTheirLog) {
  EXPECT_TRUE(BreakCondition::parse("write.num_tokens > 0").value().reads_writes());
  EXPECT_FALSE(BreakCondition::parse("copy.dst_col > 0").value().reads_writes());
}

std::string error_of(std::string_view field, std::string_view where) {
  const auto query = BreakQuery::parse(field, where);
  return query.ok() ? "no error" : query.error().message;
}

TEST(BreakQueryErrors, AFieldThatThereIsNotIsMarkedWithTheNearestOne) {
  EXPECT_EQ(error_of("copy.dstcol", "true"),
            "no field is called copy.dstcol, did you mean \"dst_col\"?\n"
            "  copy.dstcol\n"
            "       ^~~~~~");
  EXPECT_EQ(error_of("copy.dst_col", "copy.srccol==1"),
            "no field is called copy.srccol, did you mean \"src_col\"?\n"
            "  copy.srccol==1\n"
            "       ^~~~~~");
}

TEST(BreakQueryErrors, WhatIsAskedForIsOneField) {
  EXPECT_EQ(error_of("copy.dst_col + 1", "true"),
            "expected the name of one field, such as copy.dst_col\n"
            "  copy.dst_col + 1\n"
            "  ^~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("finding", "true"),
            "expected the name of one field, such as copy.dst_col\n"
            "  finding\n"
            "  ^~~~~~~");
}

}  // namespace

}  // namespace hybridscope::test::break_condition_test
