// What --help of every command tells.
#include <gmock/gmock.h>

#include <string>

#include "cli/program_commands.h"
#include "tests/cli/program.h"

namespace hybridscope::test::help_test {
namespace {

using testing::HasSubstr;

std::size_t num_found(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Help, OfEveryCommandNamesTheExitCodesThatAllHaveOnce) {
  for (const ProgramCommand& command : program_commands()) {
    const std::string help = run_program(std::string(command.name) + " --help").out;
    EXPECT_THAT(help, HasSubstr("\nExit codes of every command: 5 a bug of hybridscope, 130 "
                                "interrupted (Ctrl-C, SIGTERM, SIGHUP).\n"))
        << command.name;
    EXPECT_THAT(help, HasSubstr("Exit codes: 0 ")) << command.name;
    EXPECT_EQ(num_found(help, "130"), 1U) << command.name;
    EXPECT_EQ(num_found(help, "a bug of hybridscope"), 1U) << command.name;
  }
  EXPECT_THAT(run_program("sessions list --help").out, HasSubstr("130 interrupted"));
}

TEST(Help, SaysWhetherAValueIsAStepOrANumberOfSteps) {
  const std::string show = run_program("sessions show --help").out;
  EXPECT_THAT(show, HasSubstr("--step STEP:a step from 1 on"));
  EXPECT_THAT(show, HasSubstr("--limit N:a number from 1 on"));
  EXPECT_THAT(run_program("sessions bookmark --help").out,
              HasSubstr("--step STEP:a step from 1 on"));
  EXPECT_THAT(run_program("sessions fork --help").out, HasSubstr("--at STEP:a step from 1 on"));
}

TEST(Help, SaysWhatAFileOrAPlaceIsAndWhetherItCanBeStandardOutput) {
  const std::string diff = run_program("diff --help").out;
  EXPECT_THAT(diff, HasSubstr("--scenario SCENARIO.json"));
  EXPECT_THAT(diff, HasSubstr("--engine PROFILE ..."));
  EXPECT_THAT(diff, HasSubstr("--html FILE|-"));
  const std::string matrix = run_program("matrix --help").out;
  EXPECT_THAT(matrix, HasSubstr("--html FILE|-"));
  EXPECT_THAT(matrix, HasSubstr("--merge DIR ..."));
  EXPECT_THAT(run_program("sessions delete --help").out,
              HasSubstr("session FILE.db:NAME REQUIRED"));
  EXPECT_THAT(run_program("conformance --help").out, HasSubstr("--junit FILE|-"));
  EXPECT_THAT(run_program("sessions export --help").out, HasSubstr("--html OUT.html|-"));
}

}  // namespace
}  // namespace hybridscope::test::help_test
