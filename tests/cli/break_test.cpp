// hybridscope run --break.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sessions/breakpoint/break_fields.h"
#include "tests/cli/program.h"

namespace hybridscope::test::break_test {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgramResult run_with(const std::string& options) {
  return run_program("run " HYBRIDSCOPE_SOURCE_DIR
                     "/scenarios/align_boundary_by_accepted_drafts.json --no-timings " +
                     options);
}

TEST(Break, StopsBehindTheFirstStepThatItHoldsForAndSaysWhy) {
  const ProgramResult run =
      run_with("--break 'copy.src_col==copy.dst_col && copy.accept_token_bias>0'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 steps, 2 request-steps"));
  EXPECT_THAT(run.out, HasSubstr("stopped at step 2 by --break 'copy.src_col==copy.dst_col && "
                                 "copy.accept_token_bias>0': copy of A: src_col 0, dst_col 0, "
                                 "accept_token_bias 1"));
}

TEST(Break, HitsAreCounted) {
  EXPECT_EQ(run_with("--break row.row_class==verify --break-hits 2").err,
            "stopped at step 3 by --break 'row.row_class==verify': row of A: row_class verify, the "
            "run's last one\n");
  const ProgramResult run =
      run_with("--break row.row_class==verify --break finding --break-hits 9");
  EXPECT_THAT(run.out, Not(HasSubstr("stopped")));
  EXPECT_EQ(run.err,
            "--break 'row.row_class==verify': held in 2 steps\n--break 'finding': never held\n");
}

TEST(Break, WritesAreLoggedWhenTheyAreAskedFor) {
  EXPECT_THAT(run_with("--break 'block==2 && written && step>1'").out,
              HasSubstr("stopped at step 2"));
}

TEST(Break, AnExpressionThatCannotBeReadIsUsageAndMarked) {
  const ProgramResult run = run_with("--break 'copy.srccol == 1'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err,
            "hybridscope run: --break: no field is called copy.srccol, did you mean \"src_col\"?\n"
            "  copy.srccol == 1\n"
            "       ^~~~~~\n");
}

TEST(Break, IsForOneRun) {
  const ProgramResult run = run_program("run " HYBRIDSCOPE_SOURCE_DIR "/scenarios --break finding");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--break is for one run"));
}

TEST(Break, HelpAndDocumentNameEveryKind) {
  const ProgramResult help = run_program("run --break help");
  EXPECT_EQ(help.exit_code, 0);
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/docs/debug.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const BreakKind& kind : break_kinds()) {
    if (!kind.name.empty()) {
      EXPECT_THAT(text.str(), HasSubstr(std::string(kind.name) + "."));
    }
    for (const BreakField& field : kind.fields) EXPECT_THAT(help.out, HasSubstr(field.name));
  }
}

}  // namespace
}  // namespace hybridscope::test::break_test
