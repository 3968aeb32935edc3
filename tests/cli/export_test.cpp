// hybridscope export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hybridscope::test::export_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kBoundary = "scenarios/align_boundary_by_decode.json";

TEST(Export, StepActionsOfAllRequestsOrOfOne) {
  const ProgramResult all = run_program("export " + kBoundary + " --as step-actions");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("    \"A\": [  # prompt of 6, max_tokens 6\n"));
  EXPECT_THAT(all.out,
              HasSubstr("        StepAction(8, 6, [1, 1], (0, 1), (-1, -1)),  # step 6\n"));
  const ProgramResult one = run_program("export --request B --as step-actions --json " + kBoundary);
  const json actions = json::parse(one.out);
  ASSERT_EQ(actions["requests"].size(), 1U);
  EXPECT_EQ(actions["requests"][0]["request"], "B");
  EXPECT_EQ(actions["requests"][0]["step_actions"][0]["num_computed_tokens_start"], 8);
}

TEST(Export, AnUnknownRequestIsRefusedWithThoseThatRan) {
  const ProgramResult refused =
      run_program("export " + kBoundary + " --as step-actions --request C");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no request \"C\" ran"));
  EXPECT_THAT(refused.err, HasSubstr("(those that did: A, B)"));
}

// A table in the file that vLLM's test has for it, and every generated test, is Python.
TEST(Export, ATestOfAnAsynchronousRunIsRefused) {
  const ProgramResult refused = run_program("export scenarios/plain_decode.json --as pytest");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("expected false: --no-async-scheduling"));
}

TEST(Export, AReportNamesTheCommandThatReproducesIt) {
  const ProgramResult report =
      run_program("export scenarios/starved_request.json --as markdown --engine reference");
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, StartsWith("# starved request\n"));
  EXPECT_THAT(report.out, HasSubstr("```\nhybridscope run scenarios/starved_request.json --engine "
                                    "reference --explain 4\n```\n"));
}

TEST(Export, OptionsThatWouldDoNothingAreRefused) {
  EXPECT_EQ(run_program("export " + kBoundary + " --as markdown --json").exit_code, 2);
  EXPECT_EQ(run_program("export " + kBoundary + " --as pytest --request A").exit_code, 2);
  EXPECT_EQ(run_program("export " + kBoundary + " --as csv").exit_code, 2);
  EXPECT_EQ(run_program("export " + kBoundary).exit_code, 2);
}

TEST(Export, WhatCannotBeReadIsInvalidInput) {
  EXPECT_EQ(run_program("export no_such.json --as markdown").exit_code, 3);
}

}  // namespace
}  // namespace hybridscope::test::export_test
