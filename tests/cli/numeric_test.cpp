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

TEST(RunNumeric, FormChunkedIsRefusedOnAGpu) {
  const ProgramResult run = run_program(std::string("run scenarios/plain_decode.json --weights ") +
                                        kModel + " --form chunked --backend cuda");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--form chunked runs on the CPU only"));
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
}

// Two runs are compared, or one recorded, without texts: a model beside them would be ignored.
TEST(RunNumeric, IsRefusedWhereItWouldBeIgnored) {
  const std::string run = std::string("run scenarios/plain_decode.json --weights ") + kModel;
  EXPECT_THAT(run_program(run + " --twin").err,
              HasSubstr("--twin compares two symbolic runs: --state numeric is for one"));
  EXPECT_THAT(run_program(run + " --record /nowhere.db").err,
              HasSubstr("--record keeps no texts: leave out --state numeric"));
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
