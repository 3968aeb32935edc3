#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/conformance_command.h"
#include "sessions/conformance/recognise.h"
#include "tests/cli/program.h"
#include "tests/support/golden.h"

namespace hybridscope::test::conformance_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kRight =
    "{\"id\": \"fla_1\", \"config\": {\"chunk_size\": 4}, \"input\": {\"cu_seqlens\": [0, 5]}, "
    "\"output\": {\"chunk_indices\": [[0, 0], [0, 1]], \"chunk_indices_shape\": [2, 2], "
    "\"chunk_offsets\": [0, 2], \"chunk_offsets_shape\": [2]}}\n";
constexpr const char* kWrong =
    "{\"id\": \"fla_2\", \"config\": {\"chunk_size\": 4}, \"input\": {\"cu_seqlens\": [0, 5]}, "
    "\"output\": {\"chunk_indices\": [[0, 0], [0, 7]], \"chunk_indices_shape\": [2, 2], "
    "\"chunk_offsets\": [0, 2], \"chunk_offsets_shape\": [2]}}\n";

std::string vectors(const std::string& text, const std::string& name = "fla_chunks.jsonl") {
  return temporary_file(name, text);
}

ProgramResult conformance(const std::string& arguments) {
  return run_program("conformance " + arguments);
}

TEST(Conformance, VectorsThatPassHaveExitCode0AndARowAFile) {
  const ProgramResult run = conformance(vectors(kRight) + " --no-timings");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("fla_chunks      1       1       0        0"));
  EXPECT_THAT(run.out, HasSubstr("1 files, 1 cases: every field is as expected"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Conformance, ADifferenceHasExitCode1AndIsPrintedInFull) {
  const std::string path = vectors(std::string(kRight) + kWrong);
  const ProgramResult run = conformance(path);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr(path + ":2: \"fla_2\" differs at /chunk_indices/1/1"));
  EXPECT_THAT(run.out, HasSubstr("expected  7"));
  EXPECT_THAT(run.out, HasSubstr("got       1"));
  EXPECT_THAT(run.out, HasSubstr(R"("input":{"cu_seqlens":[0,5]})"));
  EXPECT_THAT(run.out, HasSubstr("2 cases"));
  EXPECT_THAT(run.out, HasSubstr("1 differ"));
}

TEST(Conformance, TheLastLineSaysWhatPassedBesideWhatIsInvalid) {
  EXPECT_THAT(conformance(vectors(std::string(kRight) + "7\n") + " --no-timings").out,
              HasSubstr("1 files, 1 cases: 1 passed; 1 invalid\n"));
  EXPECT_THAT(conformance(vectors(std::string(kRight) + kWrong + "7\n") + " --no-timings").out,
              HasSubstr("1 files, 2 cases: 1 passed, 1 differ; 1 invalid\n"));
}

// Both values together are no release's: the hash of the prompt's last block is not known yet
// there.
TEST(Conformance, AReleaseCanBeAskedWithAnotherPolicy) {
  const std::string file = golden_path("releases/scheduler_0.33.0") + " --no-timings";
  EXPECT_EQ(conformance(file).exit_code, 0);
  const ProgramResult run = conformance(file + " --policy prompt_tail_key=at_last_hash_block");
  EXPECT_EQ(run.exit_code, 3);  // four go on with requests that are not there now
  EXPECT_THAT(run.out, HasSubstr("1 files, 58 cases: 42 passed, 16 differ; 4 invalid"));
  EXPECT_THAT(conformance(file + " --policy no_policy=1").err,
              HasSubstr("--policy no_policy=1: expected NAME=VALUE of a policy"));
}

TEST(Conformance, IdsAreQuoted) {
  const std::string id = R"(\u001b[31m\nfla)";
  std::string wrong = kWrong;
  wrong.replace(wrong.find("fla_2"), 5, id);
  const std::string report = temporary_file("quoted.xml", "");
  const ProgramResult run = conformance(vectors(wrong + wrong) + " --junit '" + report + "'");
  const std::string shown = R"(\x1B[31m\x0Afla)";
  EXPECT_THAT(run.out, HasSubstr(":1: \"" + shown + "\" differs"));
  EXPECT_THAT(run.out, HasSubstr("also      \"" + shown + "\"\n"));
  std::ifstream in(report);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(text, HasSubstr("&quot;" + shown + "&quot; /chunk_indices"));
}

TEST(Conformance, VerifyIsTheSameCommand) {
  EXPECT_EQ(run_program("verify " + vectors(kWrong)).exit_code, 1);
}

TEST(Conformance, ABackendIsCpuOrCuda) {
  const ProgramResult cpu = conformance(vectors(kRight) + " --backend cpu --no-timings");
  EXPECT_EQ(cpu.exit_code, 0) << cpu.err;
  EXPECT_THAT(cpu.out, HasSubstr("1 files, 1 cases: every field is as expected"));
  const ProgramResult tpu = conformance(vectors(kRight) + " --backend tpu");
  EXPECT_EQ(tpu.exit_code, 2);
  EXPECT_THAT(tpu.err, HasSubstr("--backend: tpu not in {cpu,cuda}"));
  const ProgramResult device = conformance(vectors(kRight) + " --device 1");
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_THAT(device.err, HasSubstr("--device is for --backend cuda"));
}

TEST(Conformance, JsonSaysWhereItRan) {
  const auto json = nlohmann::json::parse(conformance(vectors(kRight) + " --json").out);
  EXPECT_EQ(json.at("config").at("backend"), "cpu");
  EXPECT_EQ(json.at("config").at("device"), nullptr);
  EXPECT_EQ(json.at("summary").at("not_run"), 0);
  EXPECT_EQ(json.at("files").at(0).at("not_run"), 0);
}

// Without a usable GPU nothing is checked; with one, what has no kernel does not count as passed.
TEST(Conformance, OnAGpuVectorsWithoutAKernelAreNotRun) {
  const ProgramResult run = conformance(vectors(kRight) + " --backend cuda --no-timings");
  if (run.exit_code == 4) {
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, testing::StartsWith("hybridscope conformance: "));
    EXPECT_THAT(run.err, HasSubstr("CUDA"));
    return;
  }
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.out, HasSubstr("not run on cuda"));
  EXPECT_THAT(run.out, HasSubstr("1 files, 0 cases on cuda (device 0: "));
  EXPECT_THAT(run.err, HasSubstr("nothing to check on cuda: no kernel ran for any of 1 cases"));
}

// Of two files on a GPU, one has no kernel.
ConformanceReport report_of_a_gpu() {
  const auto file = [](const char* kind, std::int64_t passed, std::int64_t not_run) {
    FileReport report;
    report.path = std::string("golden/") + kind + ".jsonl";
    report.kind = recognise_by_name(report.path);
    report.cases = report.passed = passed;
    report.not_run = not_run;
    return report;
  };
  return {.timings = false,
          .backend = StateBackendKind::cuda,
          .device = "device 0: a GPU",
          .files = {file("fla_chunks", 0, 300), file("block_table_gather", 212, 188)}};
}

TEST(Conformance, TheReportOfAGpuCountsWhatWasNotRunApart) {
  const ConformanceReport report = report_of_a_gpu();
  EXPECT_EQ(
      format_conformance(report),
      R"(  file                      kind                cases  passed  failed  invalid  not run
  fla_chunks.jsonl          fla_chunks              0       0       0        0      300
  block_table_gather.jsonl  block_table_gather    212     212       0        0      188

2 files, 212 cases on cuda (device 0: a GPU): every field is as expected; 488 not run on cuda
)");
  const auto json = conformance_to_json(report);
  EXPECT_EQ(json.at("config").at("backend"), "cuda");
  EXPECT_EQ(json.at("config").at("device"), "device 0: a GPU");
  EXPECT_EQ(json.at("summary").at("passed"), 212);
  EXPECT_EQ(json.at("summary").at("not_run"), 488);
  const std::vector<JunitCase> tests = conformance_testcases(report);
  EXPECT_EQ(tests.at(0).problem, JunitProblem::skipped);
  EXPECT_THAT(tests.at(0).failures, testing::ElementsAre("not run on cuda"));
  EXPECT_THAT(tests.at(1).failures, IsEmpty());
}

TEST(Conformance, ADeviceThatFailsIsNoSuccess) {
  ConformanceReport report = report_of_a_gpu();
  report.files.back().kernel_error = Error{ErrorKind::device, "CUDA device 0: lost"};
  EXPECT_THAT(format_conformance(report),
              HasSubstr("2 files, 212 cases on cuda (device 0: a GPU): 212 passed, then the device "
                        "failed; 488 not run on cuda\n"));
  EXPECT_EQ(conformance_to_json(report).at("files").at(1).at("device_error"),
            "CUDA device 0: lost");
  EXPECT_EQ(conformance_testcases(report).at(1).problem, JunitProblem::error);
}

TEST(Conformance, HelpNamesTheKindsThatHaveKernels) {
  const std::string help = conformance("--help").out;
  EXPECT_THAT(help, HasSubstr("hybridscope conformance tests/golden --backend cuda"));
  EXPECT_THAT(help, HasSubstr("block_table_gather  gather"));
  EXPECT_THAT(help, HasSubstr("preprocess_align    copy list"));
}

TEST(Conformance, NothingSelectedHasExitCode2) {
  const ProgramResult filtered = conformance(vectors(kRight) + " --filter gdn_1");
  EXPECT_EQ(filtered.exit_code, 2);
  EXPECT_THAT(filtered.err, HasSubstr("no case has an id that contains \"gdn_1\""));
  EXPECT_EQ(conformance("").exit_code, 2);
  EXPECT_EQ(conformance(vectors(kRight) + " --no-such-option").exit_code, 2);
}

TEST(Conformance, AFolderWithoutVectorsHasExitCode3AndHidesNothing) {
  const std::string folder = temporary_folder("empty", {});
  const ProgramResult run = conformance(folder + " " + vectors(kRight) + " --no-timings");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr(folder + ": no file there ends in .jsonl or .jsonl.zst"));
  EXPECT_THAT(run.out, HasSubstr("1 passed; 1 invalid"));
}

TEST(Conformance, WhatIsNoVectorHasExitCode3AndHidesNothing) {
  const std::string path = vectors(std::string("{\"id\": 4}\n") + kWrong);
  const ProgramResult run = conformance("no_such_file.jsonl " + path);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("no_such_file.jsonl: no such file or folder"));
  EXPECT_THAT(run.err, HasSubstr(path + ":1: /id: expected a string, found 4"));
  EXPECT_THAT(run.out, HasSubstr("\"fla_2\" differs"));
}

TEST(Conformance, AnUnknownKindNamesWhatWasLookedFor) {
  const ProgramResult run =
      conformance(vectors("{\"id\": \"a\", \"config\": {\"q\": 1}}\n", "what.jsonl"));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("unknown kind of vector"));
  EXPECT_THAT(run.err, HasSubstr("gdn_builder"));
}

TEST(Conformance, AMisnamedFileIsHinted) {
  const std::string path = vectors(kRight, "split_batch.jsonl");
  const ProgramResult run = conformance(path);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr(path + ": its name says split_batch, but its fields are those of "
                                        "fla_chunks\n"));
  EXPECT_THAT(nlohmann::json::parse(conformance(path + " --json").out)["files"][0]["hint"],
              HasSubstr("those of fla_chunks"));
}

TEST(Conformance, JsonIsOneObjectWithConfigSummaryAndFiles) {
  const ProgramResult run =
      conformance(vectors(std::string(kRight) + kWrong + "[]\n") + " --json --no-timings");
  EXPECT_EQ(run.exit_code, 3);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("config").at("filter"), "");
  EXPECT_EQ(json.at("summary"), nlohmann::json({{"files", 1},
                                                {"cases", 2},
                                                {"passed", 1},
                                                {"failed", 1},
                                                {"invalid", 1},
                                                {"not_run", 0}}));
  const auto& file = json.at("files").at(0);
  EXPECT_EQ(file.at("kind"), "fla_chunks");
  EXPECT_EQ(file.at("failures").at(0).at("pointer"), "/chunk_indices/1/1");
  EXPECT_EQ(file.at("failures").at(0).at("asked").at("input").at("cu_seqlens").at(1), 5);
  EXPECT_EQ(file.at("errors").at(0).at("line"), 3);
}

TEST(Conformance, JunitHasATestcaseAFile) {
  const std::string report = temporary_file("conformance.xml", "");
  EXPECT_EQ(conformance(vectors(kWrong) + " --junit '" + report + "'").exit_code, 1);
  std::ifstream in(report);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(text, HasSubstr("tests=\"1\" failures=\"1\""));
  EXPECT_THAT(text, HasSubstr("&quot;fla_2&quot; /chunk_indices/1/1: expected 7, got 1"));
}

TEST(Conformance, OutputThatCannotBeWrittenHasExitCode4) {
  EXPECT_EQ(conformance(vectors(kRight) + " --junit /tmp").exit_code, 4);
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(conformance(vectors(kRight) + " >/dev/full").exit_code, 4);
}

TEST(Conformance, HelpHasExamplesAndExitCodes) {
  const ProgramResult run = conformance("--help");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("hybridscope conformance tests/golden"));
  EXPECT_THAT(run.out, HasSubstr("*.jsonl.zst"));
  EXPECT_THAT(run.out, HasSubstr("Exit codes"));
}

// Not all of them, which GoldenFile.EveryVectorPasses checks.
TEST(Conformance, AFolderIsCheckedFileByFile) {
  const ProgramResult run = conformance("'" + golden_dir() + "' --json --no-timings --filter _1");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto summary = nlohmann::json::parse(run.out).at("summary");
  EXPECT_EQ(summary.at("files"), 25);
  EXPECT_EQ(summary.at("passed"), summary.at("cases"));
  EXPECT_EQ(summary.at("cases"), 2555);  // whose id contains "_1"
}

}  // namespace
}  // namespace hybridscope::test::conformance_test
