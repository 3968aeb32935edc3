// hybridscope plan fit through the program.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace hybridscope::test::plan_fit_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kRun =
    "run -q --traffic synthetic --limit 5 --model tiny-gdn --num-blocks 2000 --max-model-len 4096 "
    "--max-num-batched-tokens 512 ";

// The lines of a run whose steps take 8 ms and 25 us a token.
std::vector<json> traced_lines(const std::string& options) {
  std::vector<json> lines;
  std::istringstream text(
      run_program(std::string(kRun) +
                  "--step-cost-base-us 8000 --step-cost-per-token-us 25 --trace - " + options)
          .out);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

const std::vector<json>& traced_lines() {
  static const std::vector<json> lines = traced_lines("--no-async-scheduling");
  return lines;
}

std::string file_of(const std::vector<json>& lines) {
  std::string text;
  for (const json& line : lines) text += line.dump() + "\n";
  return temporary_file("run.jsonl", text);
}

TEST(PlanFit, FindsTheConstantsOfARunAndAPlanTakesItsFile) {
  const std::string folder = temporary_folder("fit", {});
  const std::string trace = folder + "/run.jsonl.zst";
  ASSERT_EQ(run_program(std::string(kRun) +
                        "--step-cost-base-us 8000 --step-cost-per-token-us 25 --trace " + trace)
                .exit_code,
            0);
  const std::string file = folder + "/step_time.txt";
  const ProgramResult fit = run_program("plan fit " + trace + " --out " + file);
  EXPECT_EQ(fit.exit_code, 0) << fit.err;
  EXPECT_THAT(fit.out, HasSubstr("\n--step-time '8000 + 25*prefill + 25*decode'\n"));
  EXPECT_THAT(fit.out, HasSubstr("copied_bytes is left out: with --model it is known"));
  EXPECT_THAT(fit.out, HasSubstr("times are simulated, not measured"));
  EXPECT_THAT(read_file(file), testing::EndsWith("\n8000 + 25*prefill + 25*decode\n"));
  const ProgramResult plan = run_program(
      "plan --traffic synthetic --limit 5 --model tiny-gdn --num-blocks 2000 --max-model-len 4096 "
      "--sweep max_num_seqs=2,8 --step-time " +
      file);
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("a step takes 8000 + 25*prefill + 25*decode us"));
}

// The text in docs/plan.md between the marks, without the fence and the command.
TEST(PlanFit, TheExampleOfItsPageIsWhatItPrints) {
  const std::string page = read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/plan.md");
  const std::string begin = "<!-- plan fit -->\n```\n$ hybridscope ";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string rest = page.substr(at + begin.size());
  const std::size_t line = rest.find('\n');
  const std::string command = rest.substr(0, line);
  ASSERT_THAT(command, testing::EndsWith("--out step_time.txt"));
  const std::string file = temporary_folder("fit", {}) + "/step_time.txt";
  const ProgramResult run = run_program(command.substr(0, command.rfind(' ')) + " " + file);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, rest.substr(line + 1, rest.find("```\n<!-- /plan fit -->") - line - 1));
  const std::string formula = "12970 + 27.03*prefill + 0.000231*copied_bytes";
  EXPECT_THAT(read_file(file), testing::EndsWith("\n" + formula + "\n"));
}

// Of the same requests, frames in flight: prompt tokens take as long.
TEST(PlanFit, AnAsynchronousRecordingGivesThePageItsFormula) {
  const ProgramResult run = run_program(
      "plan fit tests/recordings/step_times_async.jsonl.zst --model nemotron-h-8b --json");
  const json found = json::parse(run.out);
  EXPECT_EQ(found["step_time"], "12700 + 28.69*prefill + 370*decode + 0.00017*copied_bytes");
  EXPECT_EQ(found["asynchronous"], true);
  EXPECT_EQ(found["left_out"].size(), 2U);
  const ProgramResult judged = run_program("judge tests/recordings/step_times_async.jsonl.zst");
  EXPECT_EQ(judged.exit_code, 3);  // its metadata was taken out
  EXPECT_THAT(judged.out, HasSubstr("not judged: step 1: attn_metadata/"));
}

// The first step compiles for 20 s, every copied byte takes 0.5 ns.
TEST(PlanFit, TellsWhatIsLeftOutAndReadsSeveralTraces) {
  std::vector<json> lines = traced_lines();
  lines[1]["step_time_us"] = 20'000'000;
  const std::string slow = file_of(lines);
  const ProgramResult run =
      run_program("plan fit --model tiny-gdn " + slow + " " + slow + " --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json found = json::parse(run.out);
  EXPECT_EQ(found["step_time"], "8000 + 25*prefill + 25*decode");
  EXPECT_EQ(found["num_steps"].get<std::size_t>() + 2,
            2 * static_cast<std::size_t>(std::ranges::count_if(
                    lines, [](const json& line) { return line.contains("step_time_us"); })));
  ASSERT_EQ(found["left_out"].size(), 2U);
  EXPECT_EQ(found["left_out"][1]["line"], 2);
  EXPECT_EQ(found["left_out"][1]["step_time_us"], 20'000'000);
  EXPECT_EQ(found["terms"]["copied_bytes"]["fit"], "at_zero");
  EXPECT_GT(found["terms"]["copied_bytes"]["most"], 0);
  const std::string text = run_program("plan fit " + slow).out;
  EXPECT_THAT(text, HasSubstr("steps that took more than 3 times as long as the others say"));
  EXPECT_THAT(text, HasSubstr("run.jsonl:2) with 20,000 ms rather than "));
  EXPECT_EQ(json::parse(run_program("plan fit --skip 1 --json " + slow).out)["left_out"].size(),
            0U);
}

// A frame's time may be found in the one before it, in which the host launched it.
TEST(PlanFit, FramesInFlightAreTimedTogether) {
  std::vector<json> lines = traced_lines("--async-scheduling");
  const std::string own = file_of(lines);
  const std::string formula = "8000 + 25*prefill + 25*decode";
  EXPECT_EQ(json::parse(run_program("plan fit --json " + own).out)["step_time"], formula);
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    if (!lines[i].contains("step_time_us") || !lines[i + 1].contains("step_time_us")) continue;
    // All but what the frame takes without its tokens.
    const std::int64_t moved = lines[i + 1]["step_time_us"].get<std::int64_t>() - 8000;
    if (moved < 25 * 100) continue;  // a decode
    lines[i]["step_time_us"] = lines[i]["step_time_us"].get<std::int64_t>() + moved;
    lines[i + 1]["step_time_us"] = 8000;
  }
  const std::string moved = file_of(lines);
  const json terms = json::parse(run_program("plan fit --json " + moved).out)["terms"];
  // Not exactly: a prompt of more than eight chunks is cut.
  EXPECT_NEAR(terms["base"]["us"].get<double>(), 8000, 50);
  EXPECT_NEAR(terms["prefill"]["us"].get<double>(), 25, 2);
  EXPECT_THAT(
      run_program("plan fit " + moved).out,
      HasSubstr("a step with prompt tokens or copies is in a group with the one before it"));
}

TEST(PlanFit, ATraceWithoutTimesSaysSo) {
  std::vector<json> lines = traced_lines();
  for (json& line : lines) line.erase("step_time_us");
  const ProgramResult run = run_program("plan fit " + file_of(lines));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("tells its time (member step_time_us, docs/trace-format.md"));
}

TEST(PlanFit, OneStepIsTooFew) {
  std::vector<json> lines = traced_lines();
  lines.resize(2);
  const ProgramResult run = run_program("plan fit " + file_of(lines));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("run.jsonl: 1 step with a time, expected at least 10"));
}

// One request: a step with its prompt, then steps of one token.
TEST(PlanFit, WhatCannotBeToldApartCanBeLeftOut) {
  const std::string folder = temporary_folder(
      "fit", {{"one.json",
               R"({"version": 1, "name": "one", "teaches": "t", "model": "tiny-gdn",
                   "settings": {"num_gpu_blocks_override": 32, "max_model_len": 64,
                                "step_cost": {"base_us": 0, "per_token_us": 25}},
                   "requests": [{"id": "A", "prompt": 10, "max_tokens": 20}]})"}});
  const std::string trace = folder + "/one.jsonl";
  ASSERT_EQ(run_program("run -q " + folder + "/one.json --trace " + trace).exit_code, 0);
  const ProgramResult run = run_program("plan fit " + trace);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("the number of tokens of decodes follows from the base and tokens "
                                 "of prefills in every step, so that their times cannot be told"));
  EXPECT_THAT(run_program("plan fit --without base " + trace).out,
              HasSubstr("\n--step-time '0 + 25*prefill + 25*decode'\n"));
  EXPECT_THAT(run_program("plan fit --skip 1 " + trace).err,
              HasSubstr("the number of tokens of decodes is the same in every step"));
}

TEST(PlanFit, WrongUsageIsTold) {
  for (const auto& [arguments, code, message] :
       {std::tuple("plan fit", 2, "hybridscope plan fit: trace is required"),
        std::tuple("plan --model tiny-gdn fit t.jsonl", 2, "--model stands before fit"),
        std::tuple("plan fit t.jsonl --without speed", 2, "--without"),
        std::tuple("plan fit t.jsonl --tensor-parallel-size 2", 2, "--model"),
        std::tuple("plan fit t.jsonl --model nosuch", 2, "no model is called"),
        std::tuple("plan fit README.md --out README.md", 2, "--out README.md: this is a trace"),
        std::tuple("plan fit t.jsonl --json --out -", 2, "would both be on standard output"),
        std::tuple("plan fit none.jsonl", 3, "none.jsonl"),
        std::tuple("plan fit scenarios/plain_decode.json", 3, "hybridscope run ")}) {
    const ProgramResult run = run_program(arguments);
    EXPECT_EQ(run.exit_code, code) << arguments;
    EXPECT_THAT(run.err, HasSubstr(message)) << arguments;
  }
  EXPECT_THAT(run_program("plan --traffic synthetic --limit 3 --step-time fitted.txt").err,
              HasSubstr("and there is no such file"));
  const ProgramResult bad = run_program("plan --traffic synthetic --limit 3 --step-time " +
                                        temporary_file("bad.txt", "# fitted\n8000 fast\n"));
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, HasSubstr("bad.txt:2: step time: \"8000 fast\" is no term"));
}

}  // namespace
}  // namespace hybridscope::test::plan_fit_test
