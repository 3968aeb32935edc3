// `run --state numeric` and `bugs run --state numeric` as a user sees them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/plan_command.h"
#include "cli/process.h"
#include "cli/run_command.h"
#include "cli/test_reports.h"
#include "sessions/text/shown_text.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::numeric_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kModel = "scenarios/models/jargon-gdn";

// Two questions that the trained model answers, the second behind the first one's answer.
constexpr const char* kQuestions = R"({"version": 1, "name": "questions", "model": "tiny-gdn",
  "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 64,
               "max_model_len": 64,
               "speculative_config": {"method": "mtp", "num_speculative_tokens": 2}},
  "requests": [
    {"id": "A", "prompt": {"text": "#w7d1d4b4t3v1f8?f="}, "max_tokens": 4},
    {"id": "B", "prompt": {"share": "A", "share_tokens": 20, "text": "?d="}, "max_tokens": 2,
     "at_step": 9}],
  "expect": {"findings": "none"}})";

TEST(RunNumeric, TheTrainedModelAnswers) {
  const TemporaryFolder folder;
  folder.write("questions.json", kQuestions);
  const ProgramResult run =
      run_program("run " + folder / "questions.json" + " --weights " + kModel);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("A: \"#w7d1d4b4t3v1f8?f=\" -> \"8.?w\", as alone\n"));
  EXPECT_THAT(run.out, HasSubstr("B: \"#w7d1d4b4t3v1f8?f=8.?d=\" -> \"4.\", as alone\n"));
}

TEST(BugsRunNumeric, FindsTheShippedModelFromAnyFolder) {
  const ProgramResult here = run_program("bugs run 7 --state numeric");
  const ProgramResult elsewhere = run_program("bugs run 7 --state numeric", "-C /");
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.err;
  EXPECT_EQ(elsewhere.out, here.out);
}

// Without a usable GPU nothing is simulated; with one the report is the CPU's.
TEST(RunNumeric, OnAGpuItIsTheSameOrIsRefused) {
  const TemporaryFolder folder;
  folder.write("questions.json", kQuestions);
  const std::string words =
      "run " + folder / "questions.json" + " --json --no-timings --weights " + kModel;
  const ProgramResult run = run_program(words + " --backend cuda");
  if (run.exit_code == 4) {
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("CUDA"));
    return;
  }
  EXPECT_EQ(nlohmann::json::parse(run.out).at("texts"),
            nlohmann::json::parse(run_program(words).out).at("texts"));
}

// Without a usable GPU nothing is simulated; with one no logits part.
TEST(RunNumeric, FormChunkedRunsOnAGpuOrIsRefused) {
  const ProgramResult run = run_program(std::string("run scenarios/plain_decode.json --weights ") +
                                        kModel + " --form chunked --backend cuda");
  EXPECT_EQ(run.exit_code, run.exit_code == 4 ? 4 : 0) << run.err;
  if (run.exit_code == 4)
    EXPECT_THAT(run.err, HasSubstr("CUDA"));
  else
    EXPECT_THAT(run.out, HasSubstr("form chunked"));
}

TEST(RunNumeric, JsonHasTheTexts) {
  const TemporaryFolder folder;
  folder.write("questions.json", kQuestions);
  const ProgramResult run = run_program("run " + folder / "questions.json" +
                                        " --json --state numeric --weights " + kModel);
  const auto texts = nlohmann::json::parse(run.out).at("texts");
  EXPECT_EQ(texts[0].at("text"), "8.?w");
  EXPECT_EQ(texts[0].at("alone"), "8.?w");
  EXPECT_TRUE(texts[0].at("first_difference").is_null());
  EXPECT_EQ(texts[0].at("tokens").size(), 4U);
  const auto model = nlohmann::json::parse(run.out).at("language_model");
  EXPECT_EQ(model.at("weights"), "jargon-gdn");
  EXPECT_EQ(model.at("form"), "recurrent");
}

// The faulty run of known bug 7 and its healthy run, recorded: the session, its page and the
// comparison have the texts.
TEST(RunNumeric, SessionsKeepTheTexts) {
  const TemporaryFolder folder;
  const std::string file = folder / "runs.db";
  const std::string run = " --weights tests/golden/numeric/model_qwen3_5_text --record " + file;
  const std::string scenario = "run tests/gui/data/speaking.json";
  EXPECT_EQ(run_program(scenario + run + ":wrong").exit_code, 1);
  EXPECT_EQ(run_program(scenario + " --policies-no-draft-step verify_with_counts" + run + ":right")
                .exit_code,
            0);
  const ProgramResult shown = run_program("sessions show " + file + ":wrong");
  EXPECT_THAT(shown.out, HasSubstr("Language model model_qwen3_5_text, form recurrent\nA: \""));
  EXPECT_THAT(shown.out,
              HasSubstr("parts from the lone run at token 5 (step 3): \"7\" for \"10\""));
  EXPECT_THAT(shown.out, Not(HasSubstr("layer -1")));
  const std::string step = "sessions show " + file + ":wrong --step 3";
  EXPECT_THAT(run_program(step + " --explain").out,
              HasSubstr("  A says \"7\", a lone run there \"10\"\n"));
  EXPECT_EQ(nlohmann::json::parse(run_program(step + " --json").out)["speech"]["tokens"][0][2], 7);
  const ProgramResult diff = run_program("diff " + file + ":wrong " + file + ":right");
  EXPECT_THAT(diff.out, HasSubstr("A: the texts part at token 5 (step 3 of A, step 3 of B): "
                                  "\"7\" and \"10\""));
  const std::string page = folder / "page.html";
  EXPECT_EQ(run_program("sessions export " + file + ":wrong --html " + page).exit_code, 0);
  std::ifstream html(page);
  const std::string text{std::istreambuf_iterator<char>(html), {}};
  EXPECT_THAT(text, HasSubstr("\"verdict\":\"parts from the lone run at token 5 (step 3)"));
}

constexpr const char* kSmall = " --weights tests/golden/numeric/model_qwen3_5_text";

TEST(RunNumeric, TwinsSayTheSame) {
  const std::string twins = "run scenarios/async_worked_example.json --twin";
  const ProgramResult run = run_program(twins + kSmall);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("The language model says the same in both: 2 texts."));
  const ProgramResult document = run_program(twins + " --json" + kSmall);
  EXPECT_EQ(nlohmann::json::parse(document.out).at("comparison").at("num_texts"), 2);
}

// A trace of our own engine. The model takes its tokens and says nothing of its own.
TEST(JudgeNumeric, ReportsNameTheModelAndItsForm) {
  const TemporaryFolder folder;
  const std::string trace = folder / "trace.jsonl";
  const std::string file = folder / "judged.db";
  ASSERT_EQ(run_program("run scenarios/plain_decode.json --trace " + trace).exit_code, 0);
  const ProgramResult judged =
      run_program("judge " + trace + " --form chunked --record " + file + kSmall);
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("Language model model_qwen3_5_text, form chunked: its states "
                                    "and logits compared with a lone run of each request\n"));
  EXPECT_THAT(run_program("sessions show " + file).out,
              HasSubstr("Language model model_qwen3_5_text, form chunked\n"));
  const ProgramResult document = run_program("judge " + trace + " --json" + kSmall);
  const auto config = nlohmann::json::parse(document.out).at("config").at("language_model");
  EXPECT_EQ(config.at("weights"), "model_qwen3_5_text");
  EXPECT_EQ(config.at("form"), "recurrent");
  EXPECT_EQ(run_program("judge " + trace + " --form chunked").exit_code, 2);
}

TEST(RunNumeric, OptionsThatWouldBeIgnoredAreMisuse) {
  const ProgramResult run = run_program("run scenarios/plain_decode.json --twin --backend cuda");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--twin keeps no state in bytes: leave out --state bytes and "
                                 "--backend cuda, or let a model speak with --weights"));
  EXPECT_EQ(run_program("run scenarios/plain_decode.json --weights ''").exit_code, 2);
}

TEST(RunNumeric, FormChunkedSaysTheSame) {
  const TemporaryFolder folder;
  folder.write("questions.json", kQuestions);
  const ProgramResult run =
      run_program("run " + folder / "questions.json" + " --form chunked" + " --weights " + kModel);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("-> \"8.?w\", as alone\n"));
}

TEST(RunNumeric, NeedsAModel) {
  const ProgramResult run = run_program("run scenarios/plain_decode.json --state numeric");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--state numeric needs a model: --weights DIR"));
}

TEST(RunNumeric, WeightsThatCannotBeReadAreAnInputError) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/" + kModel + "/config.json",
                             folder / "config.json");
  folder.write("model.safetensors", "abc");
  const ProgramResult run =
      run_program("run scenarios/plain_decode.json --weights " + folder.path());
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("model.safetensors: has 3 bytes, expected a safetensors file"));
}

TEST(BugsRunNumeric, ShowsBothAnswersSideBySide) {
  const ProgramResult run = run_program("bugs run 7 --state numeric");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("answers  1 of 1 request gives another answer\n"
                                 "  A: \"j1?j=\"\n"
                                 "    healthy \"1.?j=1.?j=\"\n"
                                 "    faulty  \"1.?j?j==1.\"\n"
                                 "    they part at token 5 (step 3)"));
}

TEST(BugsRunNumeric, AFolderThatIsNotThereIsNamed) {
  const ProgramResult run = run_program("bugs run 7 --weights /nowhere");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("/nowhere/config.json"));
}

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

}  // namespace hybridscope::test::numeric_test
