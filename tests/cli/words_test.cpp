#include <gmock/gmock.h>
#include <CLI/CLI.hpp>

#include <map>

#include "cli/environment.h"
#include "cli/plan_command.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/run_tests.h"
#include "sessions/text/shown_text.h"
#include "tests/cli/program.h"

namespace hybridscope::words_test {
namespace {

// 2 s a run: 5 left of this step time and 8 of the last.
TEST(PlanProgressWords, EstimateOtherStepTimesToo) {
  EXPECT_EQ(plan_progress_words({.suffix = " (step time x0.5)", .later = 1},
                                {.done = 3, .all = 8, .earlier = 0}, 6),
            "3 of 8 runs (step time x0.5), then as many with 1 other step time, about 26 s left");
  EXPECT_EQ(plan_progress_words({}, {.done = 1, .all = 3, .earlier = 5}, 2),
            "1 of 3 runs (5 were there), about 4 s left");
  EXPECT_EQ(plan_progress_words({}, {.done = 0, .all = 3, .earlier = 0}, 2), "0 of 3 runs");
}

TEST(RunWords, RunTheScenarioAloneWithTheSameSettings) {
  CLI::App app;
  RunCommandOptions options;
  add_run_options(app, options);
  app.parse(
      "scenarios --mode align --no-async-scheduling --model tiny-gdn --check all --strict --shard "
      "1/2 --junit r.xml --json");
  EXPECT_EQ(run_words(options, "scenarios/two chats.json", 4),
            "hybridscope run 'scenarios/two chats.json' --model tiny-gdn --mamba-cache-mode align "
            "--no-async-scheduling --check all --strict --explain 4");
}

TEST(RunWords, OfTrafficNameTheTraffic) {
  CLI::App app;
  RunCommandOptions options;
  add_run_options(app, options);
  app.parse("--traffic synthetic --limit 60 --steps 9");
  EXPECT_EQ(run_words(options, ""), "hybridscope run --traffic synthetic --limit 60 --steps 9");
}

TEST(RunWords, OfTrafficSayHowItIsReadAndWhenItsRequestsArrive) {
  CLI::App app;
  RunCommandOptions options;
  add_run_options(app, options);
  app.parse("--traffic log.jsonl --traffic-format mooncake --users 8 --think-time 2.50");
  EXPECT_EQ(run_words(options, ""),
            "hybridscope run --traffic log.jsonl --traffic-format mooncake --users 8 "
            "--think-time 2.5");
  CLI::App other;
  RunCommandOptions rate;
  add_run_options(other, rate);
  other.parse("--traffic synthetic --request-rate 0.0625");
  EXPECT_EQ(run_words(rate, ""), "hybridscope run --traffic synthetic --request-rate 0.0625");
}

TEST(OneLine, HasNoControlCharactersAndIsCutBetweenCharacters) {
  EXPECT_EQ(one_line("a\nb\x1B[31m\x7F"), "a\\x0Ab\\x1B[31m\\u007F");
  EXPECT_EQ(one_line("\xC2\x85 \xFF"), "\\u0085 \\xFF");
  EXPECT_EQ(one_line("gr\xC3\xBC\xC3\x9F"
                     "e",
                     4),
            "gr\xC3\xBC...");
  EXPECT_EQ(one_line("four", 4), "four");
  EXPECT_EQ(one_line("\xE2\x80\xAE"), "\\u202E");  // U+202E: text runs backwards
}

TEST(ValidText, HasAReplacementForEveryByteThatIsNoUtf8) {
  EXPECT_EQ(valid_text("a\n\xC3\xBC"), "a\n\xC3\xBC");
  EXPECT_EQ(valid_text("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(valid_text("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(valid_text("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(valid_text(std::string_view("\0", 1)), "\xEF\xBF\xBD");
}

TEST(ScenarioLines, FindWhereARequestIsDeclared) {
  const ScenarioLines lines(test::temporary_file("lines.json",
                                                 "{\n \"requests\": [\n  {\"id\": \"A\"},\n"
                                                 "  {\"id\" : \"B\", \"prompt\": 1}\n ]\n}"));
  EXPECT_EQ(lines.of_request("A"), 3);
  EXPECT_EQ(lines.of_request("B"), 4);
  EXPECT_EQ(lines.of_request("C"), 1);
  EXPECT_EQ(ScenarioLines("no_such_file.json").of_request("A"), 0);
}

TEST(ProgressPace, IsALineEveryTenSecondsWhereNobodyWatches) {
  using std::chrono::milliseconds;
  const ProgressPace::Clock::time_point start{};
  ProgressPace log(false, start);
  EXPECT_FALSE(log.due(start + milliseconds(9'999)));
  EXPECT_TRUE(log.due(start + milliseconds(10'000)));
  EXPECT_FALSE(log.due(start + milliseconds(19'999)));
  EXPECT_TRUE(log.due(start + milliseconds(20'001)));
  ProgressPace terminal(true, start);
  EXPECT_FALSE(terminal.due(start + milliseconds(199)));
  EXPECT_TRUE(terminal.due(start + milliseconds(200)));
}

bool watched(std::map<std::string, std::string> variables) {
  return is_watched([&](const char* name) { return variables[name]; }, true);
}

TEST(Environment, NobodyWatchesUnderCiOrOnADumbTerminal) {
  EXPECT_TRUE(watched({}));
  EXPECT_TRUE(watched({{"CI", "false"}, {"TERM", "xterm"}}));
  EXPECT_FALSE(watched({{"CI", "true"}}));
  EXPECT_FALSE(watched({{"TERM", "dumb"}}));
  EXPECT_FALSE(is_watched([](const char*) { return std::string(); }, false));
}

TEST(Environment, GithubIsToldOnlyWhereItSaysSo) {
  const auto lookup = [](const char* actions) {
    return [actions](const char* name) {
      return std::string(name) == "GITHUB_ACTIONS" ? std::string(actions) : std::string("s.md");
    };
  };
  EXPECT_TRUE(read_ci_environment(lookup("true")).github_annotations);
  EXPECT_EQ(read_ci_environment(lookup("true")).step_summary, "s.md");
  EXPECT_FALSE(read_ci_environment(lookup("")).github_annotations);
  EXPECT_EQ(read_ci_environment(lookup("")).step_summary, "");
}

TEST(EscapeControls, KeepsLinesAndWhatJsonMeans) {
  EXPECT_EQ(escape_controls("a\tb\nc \xC3\xA9\r"), "a\tb\nc \xC3\xA9\\x0D");
  EXPECT_EQ(escape_controls("\x1B[31m\x7F\xC2\x9B\xE2\x81\xA9"), "\\x1B[31m\\u007F\\u009B\\u2069");
  EXPECT_EQ(escape_controls("\xE2\x80|\xC0\x9B"), "\\xE2\\x80|\\xC0\\x9B");  // not UTF-8
}

// What is printed in pieces is escaped as if it were printed at once.
TEST(UnfinishedBytes, AreThoseOfACharacterThatMayGoOn) {
  EXPECT_EQ(unfinished_bytes("abc"), 0U);
  EXPECT_EQ(unfinished_bytes("ab\xC2"), 1U);
  EXPECT_EQ(unfinished_bytes("ab\xE2\x80"), 2U);
  EXPECT_EQ(unfinished_bytes("\xF0\x9F\x98"), 3U);
  EXPECT_EQ(unfinished_bytes("\xE2\x80\xAE"), 0U);      // whole
  EXPECT_EQ(unfinished_bytes("\x80\x80\x80\x80"), 0U);  // begins no character
  EXPECT_EQ(unfinished_bytes("a\xFF"), 1U);
}

}  // namespace
}  // namespace hybridscope::words_test
