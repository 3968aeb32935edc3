#include "gui/model/breakpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/content_render.h"
#include "tests/gui/model/drive.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::breakpoints_test {
namespace {

using test::apply;
using test::settle;
using testing::HasSubstr;

const std::string kScenario = "shipped:align_boundary_by_accepted_drafts";

TEST(Breakpoint, ABreakpointStopsTheRunAndSelectsWhatItIsAbout) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"breakpoint.add", "copy.src_col==copy.dst_col && copy.accept_token_bias>0"});
  apply(workbench, {"run.to_breakpoint"});
  settle(workbench);
  EXPECT_EQ(workbench.run()->step(), 2);
  EXPECT_EQ(workbench.selection().request, RequestId{0});
  EXPECT_EQ(workbench.breakpoints().list()[0].hits(), 1);
}

TEST(Breakpoint, AStepCountsOnceForABreakpointHoweverOftenItIsShown) {
  Workbench workbench;
  apply(workbench, {"breakpoint.add", "step>0"});
  apply(workbench, {"file.open", kScenario});
  EXPECT_THAT(workbench.notice().text, HasSubstr("step 1"));
  const auto hits = [&] { return workbench.breakpoints().list()[0].hits(); };
  EXPECT_EQ(hits(), 1);
  for (const char* move : {"run.step", "run.step_back", "run.step", "run.step_back", "run.step"})
    apply(workbench, {move});
  EXPECT_EQ(workbench.run()->step(), 2);
  EXPECT_EQ(hits(), 2);
  apply(workbench, {"run.end"});
  settle(workbench);
  EXPECT_EQ(hits(), workbench.run()->step());
  ASSERT_GT(workbench.run()->step(), 2);
  apply(workbench, {"run.go_to", "2"});
  apply(workbench, {"edit.accept", "A 1"});  // what is behind step 2 is another run
  EXPECT_EQ(hits(), 2);
}

TEST(Breakpoint, ABreakpointOnWhatASessionDoesNotKeepIsRefused) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "blocks"};
  ASSERT_TRUE(test::record_run(test::shipped_scenario("plain_decode"),
                               {.place = place, .level = RecordLevel::blocks})
                  .ok());
  Workbench workbench;
  apply(workbench, {"breakpoint.add", "written"});
  apply(workbench, {"file.open", place.file});
  constexpr const char* kWhy = "kept at level full; this session is at level blocks";
  EXPECT_THAT(workbench.apply({"run.to_breakpoint"}).error().message, HasSubstr(kWhy));
  EXPECT_FALSE(workbench.is_moving());
  apply(workbench, {"breakpoint.clear"});
  EXPECT_THAT(workbench.apply({"breakpoint.add", "written"}).error().message, HasSubstr(kWhy));
  apply(workbench, {"breakpoint.add", "finding"});
  apply(workbench, {"run.to_breakpoint"});
}

TEST(Breakpoint, ABadOnePointsIntoTheExpression) {
  Workbench workbench;
  const Status done = workbench.apply({"breakpoint.add", "copy.src_colum > 1"});
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("\n"));
  EXPECT_THAT(done.error().message, HasSubstr("^"));
  EXPECT_TRUE(workbench.breakpoints().list().empty());
}

TEST(BreakpointsPicture, ACheckBoxAndAButtonAreItsCommandsAndTheButtonIsNotCopied) {
  Workbench workbench;
  apply(workbench, {"breakpoint.add", "step == 3"});
  const Picture picture = breakpoints_picture(workbench);
  const Table& table = picture.tables.at(0);
  const TableRow& row = table.rows.at(0);
  EXPECT_EQ(row.cells[0].value, CellValue(true));
  EXPECT_EQ(row.cells[0].extras->clicks.at(0).command, "breakpoint.toggle");
  EXPECT_EQ(shown_words(row.cells[2]), "step == 3");
  EXPECT_EQ(row.cells[3].extras->label, "Remove");
  EXPECT_EQ(row.cells[3].extras->clicks.at(0).argument, "1");
  EXPECT_EQ(copied_columns(table), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(picture.fields.at(0).check("step == 4").ok());
  EXPECT_FALSE(picture.fields.at(0).check("step ==").ok());
}

}  // namespace
}  // namespace hybridscope::breakpoints_test
