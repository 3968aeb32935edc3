// What --help of every command tells.
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "tests/cli/program.h"

namespace hybridscope::test::help_test {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(Help, WithoutArgumentsIsTheOverview) {
  const ProgramResult alone = run_program("");
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.out, run_program("--help").out);
  EXPECT_EQ(alone.err, "");
  // Options without a command are wrong usage still.
  EXPECT_EQ(run_program("--engine safe").exit_code, 2);
}

// "run", "sessions list": every command and every command in it, as the program has them.
std::vector<std::string> all_commands() {
  std::vector<std::string> names;
  const Backends backends;
  for (const ProgramCommand& command : program_commands()) {
    CLI::App app;
    command.add(app, backends);
    names.emplace_back(command.name);
    for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command.name + (" " + inner->get_name()));
  }
  return names;
}

TEST(Help, OfEveryCommandAndSubcommandHasExamplesOfItAndItsExitCodes) {
  const std::vector<std::string> names = all_commands();
  EXPECT_EQ(names.size(), 36U);
  for (const std::string& name : names) {
    const std::string help = run_program(name + " --help").out;
    EXPECT_THAT(help, testing::ContainsRegex("\nExamples?:\n")) << name;
    EXPECT_THAT(help, HasSubstr("\n  hybridscope " + name.substr(0, name.find(' ')))) << name;
    if (name.find(' ') != name.npos) EXPECT_THAT(help, HasSubstr(" hybridscope " + name)) << name;
    EXPECT_THAT(help, HasSubstr("Exit codes: 0 ")) << name;
    EXPECT_THAT(help, HasSubstr("130 interrupted")) << name;
  }
}

TEST(Help, NamesChoicesOnce) {
  EXPECT_THAT(run_program("run --help").out, HasSubstr("--check step|all   "));
  EXPECT_THAT(run_program("export --help").out, Not(HasSubstr("{step,all}")));
  EXPECT_THAT(run_program("run --help").out, HasSubstr("(only 1; default: 1)"));
}

TEST(Help, SaysWhatAnOptionNeeds) {
  EXPECT_THAT(run_program("gui --help").out,
              HasSubstr("--record FILE.db[:NAME] Needs: --attach\n"));
}

TEST(Misuse, NamesItsCommandAndWhereItsOptionsAre) {
  EXPECT_EQ(run_program("matrix --jobs x").err,
            "hybridscope matrix: --jobs: Value x not in range 1 to 1024\n"
            "hybridscope matrix --help lists what it takes\n");
  EXPECT_EQ(run_program("sessions list").err,
            "hybridscope sessions list: file is required\n"
            "hybridscope sessions list --help lists what it takes\n");
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
