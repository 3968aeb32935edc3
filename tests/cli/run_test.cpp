#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/golden.h"

namespace hybridscope::test::run_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kScenario = "scenarios/align_boundary_by_accepted_drafts.json";

TEST(Run, PrintsARowAStepAndTheSummary) {
  const ProgramResult run = run_program(std::string("run ") + kScenario);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("A verify 6+2 a2"));
  EXPECT_THAT(run.out, HasSubstr("post A 0>0 +1"));
  EXPECT_THAT(run.out, HasSubstr("no findings"));
}

TEST(Run, JsonHasEverySummaryKeyThatTheReadmePromises) {
  const ProgramResult run = run_program(std::string("run --json ") + kScenario);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  for (const char* key :
       {"steps", "request_steps", "requests_finished", "prompt_tokens", "prefix_hit_tokens",
        "output_tokens", "preemptions", "state_copies", "state_copy_bytes", "graph_padded_tokens",
        "findings", "wall_seconds", "peak_rss_bytes"})
    EXPECT_TRUE(json.at("summary").contains(key)) << key;
  EXPECT_EQ(json.at("summary").at("findings"), 0);
  EXPECT_EQ(json.at("summary").at("requests_finished"), 1);
  EXPECT_EQ(json.at("config").at("profile"), "safe");
}

TEST(Run, TwoRunsWithoutTimingsAreByteIdentical) {
  const std::string arguments =
      "run --traffic synthetic --limit 60 --json --no-timings "
      "--model tiny-gdn --num-speculative-tokens 2 --num-blocks 4096";
  const ProgramResult first = run_program(arguments);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, run_program(arguments).out);
  EXPECT_THAT(first.out, Not(HasSubstr("wall_seconds")));
}

TEST(Run, AWarningAloneNamesItsKnownBugAndTheNextCommand) {
  const ProgramResult run =
      run_program("run scenarios/starved_request.json --policies-returning-drafts placeholders");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("drafts-cut: step 4 C: .*\n  this is known bug 53, "
                                     "returning-request-verifies-placeholders\n"));
  EXPECT_THAT(run.out, ContainsRegex("next: hybridscope run .* --explain 4"));
}

TEST(Run, AFaultyPolicyGivesFindingsAndExitCode1) {
  const ProgramResult run = run_program(
      "run scenarios/starved_request.json --policies-accepted-count-owner "
      "persistent_row");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("running-state-wrong"));
}

TEST(Run, JsonLinesHaveOneObjectAStepAndTheReportLast) {
  const ProgramResult run = run_program(std::string("run --jsonl --no-timings ") + kScenario);
  ASSERT_EQ(run.exit_code, 0);
  std::stringstream lines(run.out);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_GE(objects.size(), 3u);
  EXPECT_EQ(objects[1].at("step"), 2);
  EXPECT_EQ(objects[1].at("rows").at(0).at("num_sampled_tokens"), 2);
  EXPECT_EQ(objects.back().at("summary").at("steps"), objects.size() - 1);
}

TEST(Run, ExplainTellsOneStepWithItsFormulas) {
  const ProgramResult run = run_program(std::string("run --explain 2 ") + kScenario);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("within-block shift"));
  EXPECT_EQ(run_program(std::string("run --explain 99 ") + kScenario).exit_code, 2);
}

TEST(Run, JunitReportIsWrittenWholeAndHasOneTestcaseARule) {
  const std::string path = temporary_file("junit.xml", "");
  const ProgramResult run =
      run_program(std::string("run ") + kScenario + " --junit '" + path + "'");
  EXPECT_EQ(run.exit_code, 0);
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("tests=\"22\" failures=\"0\""));
  EXPECT_THAT(text.str(), HasSubstr("name=\"label-mismatch\""));
}

TEST(Run, AScenarioThatCannotProgressEndsWithAFinding) {
  const std::string path = temporary_file("stuck.json", R"({
    "version": 1, "name": "stuck", "teaches": "t", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 16,
                 "max_model_len": 64, "max_num_batched_tokens": 8, "max_num_seqs": 8},
    "requests": [
      {"id": "A", "prompt": 7, "max_tokens": 50}, {"id": "P", "prompt": 20, "max_tokens": 2}]})");
  const ProgramResult run = run_program("run '" + path + "' --quiet");
  EXPECT_THAT(run.exit_code, testing::AnyOf(0, 1));  // it ends, in either way
}

TEST(Run, OutputThatCannotBeWrittenHasExitCode4) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  for (const char* format : {"", "--json", "--jsonl"})
    EXPECT_EQ(run_program(std::string("run ") + kScenario + " " + format + " >/dev/full").exit_code,
              4)
        << format;
  EXPECT_EQ(run_program(std::string("run ") + kScenario + " --junit /tmp").exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists("/tmp.part"));
}

TEST(Run, SizesBeyondAnyMemoryAreRefused) {
  const ProgramResult run = run_program(
      "run --traffic synthetic --model tiny-mamba2 --max-num-seqs 65536 --max-model-len 16777216 "
      "--block-size 1 --mode align --num-blocks 1000000");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("the limit is 64 GiB"));
}

TEST(Run, ARunCutShortSaysSo) {
  const ProgramResult text = run_program(std::string("run --steps 1 ") + kScenario);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("stopped after 1 steps"));
  EXPECT_THAT(text.out, Not(HasSubstr("every block held")));
  const ProgramResult json = run_program(std::string("run --steps 1 --json ") + kScenario);
  EXPECT_EQ(nlohmann::json::parse(json.out).at("summary").at("complete"), false);
}

TEST(Run, NoRuleHidesAnother) {
  const ProgramResult run = run_program(
      "run --traffic synthetic --model tiny-mamba2 --engine reference --mode align --block-size 64 "
      "--num-blocks 4000 --num-speculative-tokens 2 --max-num-batched-tokens 64 "
      "--max-num-seqs 64 --limit 60 --json --no-timings");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_GT(json.at("summary").at("findings_by_rule").size(), 1u);
  EXPECT_LE(json.at("findings").size(), 100u);
  EXPECT_EQ(json.at("findings").at(0).at("severity"), "error");
}

TEST(Run, PromptsThatCouldNeverRunWithoutChunkedPrefillAreRefused) {
  const ProgramResult run = run_program(
      "run --traffic synthetic --model tiny-mamba2 --no-enable-chunked-prefill "
      "--max-num-batched-tokens 128 --num-blocks 4096");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("max_num_batched_tokens is 128"));
}

TEST(Run, UsageErrorsHaveExitCode2) {
  EXPECT_EQ(run_program("run").exit_code, 2);
  EXPECT_EQ(run_program("run --no-such-option").exit_code, 2);
  EXPECT_THAT(run_program("nonsense").err, HasSubstr("no command \"nonsense\""));
  EXPECT_EQ(run_program("nonsense").exit_code, 2);
  EXPECT_EQ(run_program(std::string("run --json --explain 2 ") + kScenario).exit_code, 2);
  EXPECT_EQ(run_program(std::string("run --steps 0 ") + kScenario).exit_code, 2);
  EXPECT_EQ(run_program(std::string("run --json --jsonl ") + kScenario).exit_code, 2);
  EXPECT_EQ(run_program("--help").exit_code, 0);
  EXPECT_EQ(run_program("run --help").exit_code, 0);
}

TEST(Help, HasAnExampleOfEveryCommand) {
  const std::string help = run_program("--help").out;
  for (const std::string command : {"run", "judge", "conformance", "model"})
    EXPECT_THAT(help, HasSubstr("  hybridscope " + command + " "));
  EXPECT_THAT(run_program("doctor --help").out, HasSubstr("  hybridscope doctor\n"));
}

struct BadInput {
  const char* name;
  const char* content;
  const char* message;
};

void PrintTo(const BadInput& input, std::ostream* out) { *out << input.name; }

class RunBadInput : public testing::TestWithParam<BadInput> {};

TEST_P(RunBadInput, IsNamedWithFileAndPlaceAndHasExitCode3) {
  const std::string path = temporary_file("bad.json", GetParam().content);
  const ProgramResult run = run_program("run '" + path + "'");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr(path));
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
}

constexpr const char* kHead =
    R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-mamba2", )";

const std::string kUnknownKey = std::string(kHead) + R"("requets": []})";
const std::string kWrongType =
    std::string(kHead) + R"("requests": [{"id": "A", "prompt": "six", "max_tokens": 1}]})";
const std::string kNegative =
    std::string(kHead) + R"("requests": [{"id": "A", "prompt": -6, "max_tokens": 1}]})";
const std::string kWindow = std::string(kHead) +
                            R"("settings": {"block_size": 2, "mamba_cache_mode": "align",
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 2}},
        "requests": [{"id": "A", "prompt": 6, "max_tokens": 1}]})";
const std::string kPool =
    std::string(kHead) +
    R"("settings": {"block_size": 8, "num_gpu_blocks_override": 3, "max_model_len": 64},
        "requests": [{"id": "A", "prompt": 40, "max_tokens": 4}]})";
const std::string kSizes = std::string(kHead) +
                           R"("settings": {"cudagraph_capture_sizes": []},
        "requests": [{"id": "A", "prompt": 6, "max_tokens": 1}]})";

INSTANTIATE_TEST_SUITE_P(
    Files, RunBadInput,
    testing::Values(BadInput{"truncated", R"({"version": 1,)", ":1:"},
                    BadInput{"not_utf8", "{\"version\": 1, \"name\": \"\xff\"}", "UTF-8"},
                    BadInput{"unknown_key", kUnknownKey.c_str(), "requets"},
                    BadInput{"wrong_type", kWrongType.c_str(), "/requests/0/prompt"},
                    BadInput{"negative", kNegative.c_str(), "/requests/0/prompt"},
                    BadInput{"window_above_block", kWindow.c_str(), "do not fit a block of 2"},
                    BadInput{"pool_too_small", kPool.c_str(), "/requests/0"},
                    BadInput{"no_sizes", kSizes.c_str(), "cudagraph_capture_sizes"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Run, NamesFromOutsideDoNotSteerTheTerminal) {
  const std::string scenario =
      temporary_file("esc.json", R"({"version": 1, "name": "a\u001b[31m\nb", "model": "tiny-mamba2",
                      "requests": [{"id": "A", "prompt": 4, "max_tokens": 1}]})");
  const ProgramResult run = run_program("run " + scenario);
  EXPECT_THAT(run.out, HasSubstr("a\\x1B[31m\\x0Ab: tiny-mamba2"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("\x1b")));
  const ProgramResult missing = run_program(R"sh(run "$(printf 'no\033[31m\nsuch.json')")sh");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("no\\x1B[31m\\x0Asuch.json"));
}

TEST(Run, AJunitReportCanGoToStandardOutput) {
  for (const std::string scenarios :
       {"scenarios/v2_slots.json", "scenarios/v2_slots.json scenarios/chunked_prefill.json"}) {
    const ProgramResult run = run_program("run " + scenarios + " --junit -");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out,
                testing::StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites"));
    EXPECT_THAT(run.err, HasSubstr(" steps, "));  // the text
  }
  EXPECT_FALSE(std::filesystem::exists(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/-"));
}

TEST(Run, StandardOutputHoldsOneDocument) {
  for (const std::string options : {"--json --junit -", "--jsonl --tap -", "--junit - --tap -"}) {
    const ProgramResult run = run_program("run scenarios/v2_slots.json " + options);
    EXPECT_EQ(run.exit_code, 2) << options;
    EXPECT_THAT(run.err, HasSubstr(" would both be on standard output: give one a FILE"));
    EXPECT_EQ(run.out, "");
  }
}

TEST(Run, ASettingThatIsNoneIsUsage) {
  const ProgramResult run = run_program("run scenarios/v2_slots.json --engine bogus");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("engine is \"bogus\""));
  EXPECT_EQ(run_program("run scenarios --engine bogus").exit_code, 2);
  EXPECT_EQ(run_program("model tiny-gdn --engine bogus").exit_code, 2);
}

TEST(Run, MissingFilesHaveExitCode3AndUnknownModels2) {
  EXPECT_EQ(run_program("run no_such_file.json").exit_code, 3);
  EXPECT_EQ(run_program("run --traffic no_such_file.jsonl").exit_code, 3);
  const ProgramResult run = run_program("run --traffic synthetic --model no-such-model");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("qwen3-next-80b-a3b"));
}

TEST(Run, SettingsOutOfRangeSayWhatIsAllowed) {
  const ProgramResult run = run_program("run --traffic synthetic --max-num-seqs 0");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("max_num_seqs is 0"));
}

TEST(Run, RealTrafficFinishesWithoutFindings) {
  const ProgramResult run = run_program(
      "run --traffic tests/data/mooncake_conversation_1000.jsonl.zst --limit 400 "
      "--num-speculative-tokens 2 --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto summary = nlohmann::json::parse(run.out).at("summary");
  EXPECT_EQ(summary.at("requests_finished"), 400);
  EXPECT_EQ(summary.at("findings"), 0);
}

TEST(Model, ExplainsPresetsAndRefusesOthers) {
  const ProgramResult model =
      run_program("model qwen3-next-80b-a3b --mode align --num-speculative-tokens 2");
  EXPECT_EQ(model.exit_code, 0) << model.err;
  EXPECT_THAT(model.out, HasSubstr("560"));
  EXPECT_THAT(model.out, HasSubstr("4,681"));
  EXPECT_EQ(run_program("model no-such-model").exit_code, 2);
  EXPECT_EQ(run_program("model").exit_code, 2);
  EXPECT_THAT(run_program("model --list").out, HasSubstr("kimi-linear-48b-a3b"));
}

TEST(Model, TellsHowTheEngineStartsAndNotesEachCorrection) {
  const ProgramResult model =
      run_program("model minimax-text-01 --num-speculative-tokens 2 --cudagraph-mode FULL");
  EXPECT_EQ(model.exit_code, 0) << model.err;
  EXPECT_THAT(model.out, HasSubstr("PIECEWISE instead of FULL"));
  EXPECT_THAT(model.err, HasSubstr("note: cudagraph_mode FULL became FULL_AND_PIECEWISE"));
  EXPECT_THAT(model.err, HasSubstr("note: cudagraph_mode FULL_AND_PIECEWISE became PIECEWISE"));
}

TEST(Run, CorrectionsAreNotesAndStayInTheConfig) {
  const ProgramResult run =
      run_program(std::string("run --json --no-timings --cudagraph-mode FULL ") + kScenario);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("note: cudagraph_mode FULL became FULL_AND_PIECEWISE"));
  const auto start_up = nlohmann::json::parse(run.out).at("config").at("start_up");
  EXPECT_EQ(start_up.at("runner"), "v1");
  EXPECT_EQ(start_up.at("cudagraph_mode"), "FULL_AND_PIECEWISE");
  EXPECT_EQ(start_up.at("corrections").at(0).at("kind"), "full_needs_always");
}

TEST(Run, AsynchronousSchedulingIsTheDefaultAndRefusedWithNgram) {
  const auto config = [](const std::string& arguments) {
    return nlohmann::json::parse(
               run_program("run scenarios/mixed_gdn_batch.json --json --no-timings " + arguments)
                   .out)
        .at("config")
        .at("start_up")
        .at("async_scheduling");
  };
  EXPECT_EQ(config(""), true);
  EXPECT_EQ(config("--no-async-scheduling"), false);
  EXPECT_EQ(config("--speculative-method ngram"), false);
  const ProgramResult refused = run_program(
      "run scenarios/mixed_gdn_batch.json --async-scheduling --speculative-method ngram");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("async_scheduling is on with method ngram"));
}

TEST(Run, TwinsStandSideBySideWithTheReason) {
  const ProgramResult run = run_program("run scenarios/async_worked_example.json --twin");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("10 (8)"));
  EXPECT_THAT(run.out, HasSubstr("In frame 3 A gets [14][15] in async and [11][] in sync"));
  EXPECT_THAT(run.out, HasSubstr("Both produced the same 12 output tokens"));
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_EQ(run_program("run --twin --traffic synthetic").exit_code, 2);
}

TEST(Run, TwinsAsJsonHaveBothSidesOfEveryFrame) {
  const ProgramResult run = run_program("run scenarios/async_worked_example.json --twin --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("comparison").at("reason"), "drafts_in_flight");
  EXPECT_EQ(json.at("comparison").at("same_output_tokens"), true);
  EXPECT_EQ(json.at("config").at("twin").at("async_scheduling"), false);
  EXPECT_EQ(json.at("frames").at(0).at("base").at("new_block_ids"),
            nlohmann::json::parse("[[1, 2, 3], [0, 4, 5, 6]]"));
}

TEST(Run, TheTableShowsTheFrameThatIsScheduledAndTheOneThatReturns) {
  const std::string out = run_program("run scenarios/async_worked_example.json").out;
  EXPECT_THAT(out, HasSubstr("A verify 8(10)+3 ph3 a2"));
  EXPECT_THAT(out, HasSubstr("< 2: A +1 c11 known9 ph3 | B +3 done"));
}

TEST(Doctor, SaysWhatIsThereAndWhatIsNot) {
  const ProgramResult doctor = run_program("doctor");
  EXPECT_EQ(doctor.exit_code, 0);
  // With a device its versions and its name; else the reason why there is none.
  EXPECT_THAT(doctor.out,
              ContainsRegex("\nCUDA  +(CUDA [0-9.]+, driver up to [0-9.]+, device 0: .*GiB|no CUDA "
                            "device: .*|this hybridscope was built without CUDA; --backend cpu "
                            "needs none|the NVIDIA driver "
                            "runs CUDA up to .*)\n"));
  EXPECT_THAT(doctor.out, HasSubstr("\nGUI "));
  EXPECT_THAT(doctor.out, HasSubstr("\nsessions        SQLite "));
}

TEST(Doctor, ListsTheLibrariesWithTheirVersions) {
  EXPECT_THAT(run_program("doctor").out,
              ContainsRegex("fmt [0-9.]+, nlohmann-json [0-9.]+, CLI11 [0-9.]+, simdjson [0-9.]+, "
                            "zlib [0-9.]+\n"));
}

}  // namespace
}  // namespace hybridscope::test::run_test
