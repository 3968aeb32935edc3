#include "sessions/scenario/scenario_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hybridscope::scenario_reader_test {
namespace {

using testing::HasSubstr;

using testing::ElementsAre;

Scenario parsed(std::string_view text) {
  Result<Scenario> scenario = parse_scenario({.text = text, .file = "s.json"});
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return scenario.ok() ? std::move(scenario).value() : Scenario{};
}

TEST(ScenarioReader, TheIssuesExampleFitsIn15Lines) {
  const Scenario scenario = parsed(R"({
  "version": 1,
  "model": "tiny-mamba2",
  "settings": {
    "mamba_cache_mode": "align",
    "block_size": 8,
    "num_gpu_blocks_override": 16,
    "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}
  },
  "requests": [{"id": "A", "prompt": 6, "max_tokens": 4}],
  "script": [{"step": 2, "accept": {"A": 2}}],
  "expect": {"findings": "none"}
})");
  EXPECT_EQ(scenario.model, "tiny-mamba2");
  EXPECT_EQ(scenario.settings.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(scenario.settings.block_size, 8);
  EXPECT_EQ(scenario.settings.num_gpu_blocks_override, 16);
  EXPECT_EQ(scenario.settings.speculative_method, SpeculativeMethod::mtp);
  EXPECT_EQ(scenario.settings.num_speculative_tokens, 1);
  EXPECT_THAT(scenario.requests,
              ElementsAre(ScenarioRequest{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 4}));
  EXPECT_THAT(scenario.script, ElementsAre(ScriptStep{.step = 2, .accept = {{"A", 2}}}));
  EXPECT_EQ(scenario.expect, (Expectation{.findings = std::vector<ExpectedFinding>{}}));
}

TEST(ScenarioReader, ReadsEveryKeyOfARequest) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn", "requests": [
    {"id": "A", "prompt": {"tokens": 22, "share": "system", "share_tokens": 14}, "max_tokens": 9,
     "priority": -3, "at_step": 4, "arrival_us": 20000, "cache_salt": 7}]})");
  EXPECT_THAT(
      scenario.requests,
      ElementsAre(ScenarioRequest{.id = "A",
                                  .prompt = {.tokens = 22, .share = "system", .share_tokens = 14},
                                  .max_tokens = 9,
                                  .priority = -3,
                                  .at_step = 4,
                                  .arrival_us = 20000,
                                  .cache_salt = 7}));
}

TEST(ScenarioReader, SharingWithoutACountSharesTheWholePrompt) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn",
    "requests": [{"id": "A", "prompt": {"tokens": 10, "share": "text"}}]})");
  EXPECT_EQ(scenario.requests[0].prompt.share_tokens, 10);
  EXPECT_EQ(scenario.requests[0].max_tokens, 1);
}

// One token a byte, behind what is shared.
TEST(ScenarioReader, APromptMayBeAText) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn", "requests": [
    {"id": "A", "prompt": {"text": "#k7?k="}, "max_tokens": 4},
    {"id": "B", "prompt": {"text": "?k=", "share": "A", "share_tokens": 8}}]})");
  EXPECT_EQ(scenario.requests[0].prompt, (PromptSpec{.tokens = 6, .text = "#k7?k="}));
  EXPECT_EQ(scenario.requests[1].prompt,
            (PromptSpec{.tokens = 11, .share = "A", .share_tokens = 8, .text = "?k="}));
}

TEST(ScenarioReader, ATextSaysItsOwnLength) {
  const auto error_of = [](const char* prompt) {
    return parse_scenario({.text = std::string(R"({"version": 1, "model": "tiny-gdn", "requests": )"
                                               R"([{"id": "A", "prompt": )") +
                                   prompt + "}]}",
                           .file = "s.json"})
        .error()
        .message;
  };
  EXPECT_THAT(error_of(R"({"text": "ab", "tokens": 2})"),
              HasSubstr("/requests/0/prompt/tokens: tokens and text"));
  EXPECT_THAT(error_of(R"({"text": ""})"), HasSubstr("/requests/0/prompt/text: expected a text"));
  EXPECT_THAT(error_of(R"({"text": "ab", "share": "B"})"), HasSubstr("share_tokens"));
}

TEST(ScenarioReader, ReadsEveryKeyOfAScriptStep) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"speculative_config": {"num_speculative_tokens": 3}},
    "requests": [{"id": "A", "prompt": 6}, {"id": "B", "prompt": 6}],
    "script": [
      {"step": 3, "budget": 3, "accept": {"B": 4, "A": 1}, "drafts": {"A": 0}},
      {"step": 5, "preempt": ["A"], "abort": ["B"], "reset_prefix_cache": true},
      {"step": 6, "reset_prefix_cache": {"running": true}},
      {"step": 7, "reset_prefix_cache": false}]})");
  EXPECT_THAT(
      scenario.script,
      ElementsAre(
          ScriptStep{.step = 3, .budget = 3, .accept = {{"A", 1}, {"B", 4}}, .drafts = {{"A", 0}}},
          ScriptStep{.step = 5,
                     .preempt = {"A"},
                     .abort = {"B"},
                     .reset_prefix_cache = PrefixCacheReset::unless_running},
          ScriptStep{.step = 6, .reset_prefix_cache = PrefixCacheReset::preempting_running},
          ScriptStep{.step = 7}));
}

TEST(ScenarioReader, ReadsExpectations) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn",
    "requests": [{"id": "A", "prompt": 6}],
    "expect": {"findings": [{"rule": "running-state-wrong", "step": 3, "request": "A"},
                            {"rule": "label-mismatch"}], "steps": 5, "finished": 1}})");
  EXPECT_EQ(scenario.expect,
            (Expectation{.findings = {{{.rule = "running-state-wrong", .step = 3, .request = "A"},
                                       {.rule = "label-mismatch"}}},
                         .steps = 5,
                         .finished = 1}));
}

TEST(ScenarioReader, WithoutExpectNothingIsExpected) {
  EXPECT_EQ(parsed(R"({"version": 1, "model": "tiny-gdn", "requests": [{"id": "A", "prompt": 6}]})")
                .expect,
            Expectation{});
}

TEST(ScenarioReader, IntegersMayBeWrittenAsWholeFloats) {
  const Scenario scenario = parsed(R"({"version": 1.0, "model": "tiny-gdn",
    "settings": {"block_size": 8.0, "cudagraph_capture_sizes": [1.0, 2]},
    "requests": [{"id": "A", "prompt": 6.0}]})");
  EXPECT_EQ(scenario.settings.block_size, 8);
  EXPECT_EQ(scenario.settings.cudagraph_capture_sizes, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(scenario.requests[0].prompt.tokens, 6);
}

TEST(ScenarioReader, WithoutANameAScenarioIsCalledLikeItsFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "two_requests.json";
  for (const char* name : {"", R"("name": "", )", R"("name": "own", )"}) {
    std::ofstream(path) << R"({"version": 1, )" << name
                        << R"("model": "tiny-gdn", "requests": [{"id": "A", "prompt": 6}]})";
    const std::string expected = std::string(name).ends_with("own\", ") ? "own" : "two_requests";
    EXPECT_EQ(read_scenario_file(path.string()).value().name, expected);
  }
  std::filesystem::remove(path);
}

TEST(ScenarioReader, ADirectoryIsNamedAsOne) {
  const auto scenario = read_scenario_file("/");
  EXPECT_EQ(scenario.error().kind, ErrorKind::io);
  EXPECT_EQ(scenario.error().message, "/: is a directory (expected a file)");
}

TEST(ScenarioReader, AFileThatIsNotThereIsAnIoError) {
  const auto scenario = read_scenario_file("/nowhere/s.json");
  EXPECT_EQ(scenario.error().kind, ErrorKind::io);
  EXPECT_EQ(scenario.error().message,
            "/nowhere/s.json: cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace hybridscope::scenario_reader_test
