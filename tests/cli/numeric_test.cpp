// `run --state numeric` and `bugs run --state numeric` as a user sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace
}  // namespace hybridscope::test::numeric_test
