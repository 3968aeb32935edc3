// The value of a field in the thing that a break expression picks.
#include "sessions/breakpoint/break_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::test::break_query_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string name_of(RequestId request) {
  return std::string(1, static_cast<char>('A' + request.value));
}

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
  EXPECT_TRUE(BreakQuery::parse("write.num_tokens", "true").value().reads_writes());
  EXPECT_FALSE(BreakQuery::parse("copy.dst_col", "true").value().reads_writes());
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
}  // namespace hybridscope::test::break_query_test
