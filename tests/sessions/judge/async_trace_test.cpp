// Traces of asynchronous scheduling, where a line's frame was scheduled before the frame of the
// line before it returned, and of runner V2 (docs/trace-format.md; semantics: request-slots,
// frame-phases).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/sessions/judge/compared_run.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::async_trace_test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::StartsWith;

void asynchronous(EngineConfig& config) { config.async_scheduling = true; }

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void expect_healthy(const std::vector<json>& lines, const std::string& what) {
  const Judgement judgement = judge(lines);
  EXPECT_EQ(judgement.error, "") << what;
  EXPECT_THAT(judgement.findings,
              Each(testing::AnyOf(StartsWith("chunk-off-grid"), StartsWith("drafts-cut"))))
      << what;
}

class JudgedAsyncScenario : public testing::TestWithParam<std::string> {};

TEST_P(JudgedAsyncScenario, AHealthyRunToldInFullHasNoFindings) {
  expect_healthy(trace_of(GetParam(), asynchronous), GetParam());
}

TEST_P(JudgedAsyncScenario, WhatIsLeftOutIsComputedAndIsRightToo) {
  std::vector<json> lines = trace_of(GetParam(), asynchronous);
  strip(lines, lines[0]["config"]["mamba_cache_mode"] == "all");
  expect_healthy(lines, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Shipped, JudgedAsyncScenario, testing::ValuesIn(shipped_scenarios()),
                         [](const auto& name) { return name.param; });

// Requests with a common prefix, in a pool and a budget that make them wait and lose their blocks.
std::vector<AddRequest> busy_requests() {
  return {request_of(21, 20, 1, 16), request_of(27, 9, 2, 16), request_of(17, 30, 3, 16),
          request_of(3, 12, 4),      request_of(40, 6, 5),     request_of(30, 25, 6, 16)};
}

EngineConfig busy_engine(MambaType type, MambaCacheMode mode, std::int32_t num_drafts) {
  EngineConfig config = engine_config({.mamba_type = type,
                                       .mode = mode,
                                       .num_speculative_tokens = num_drafts,
                                       .num_blocks = 26,
                                       .max_model_len = 96,
                                       .max_num_seqs = 4,
                                       .max_num_batched_tokens = 24});
  config.async_scheduling = true;
  return config;
}

// A reset with requests running, a preemption and an abort, each with a frame in flight.
void disturb(Engine& engine, std::int64_t step) {
  const std::multimap<std::int64_t, Command> commands = {
      {5, ResetPrefixCache{.reset_running_requests = true}},
      {9, PreemptRequest{RequestId{0}}},
      {12, PreemptRequest{RequestId{1}}},
      {14, AbortRequest{RequestId{2}}},
      {17, ResetPrefixCache{.reset_running_requests = true}}};
  const auto [first, last] = commands.equal_range(step);
  for (auto command = first; command != last; ++command)
    EXPECT_TRUE(engine.apply(command->second).ok());
}

std::string name_of(const EngineConfig& config, MambaType type) {
  return std::string(config.runner == ModelRunner::v2 ? "v2" : "v1") +
         (config.async_scheduling ? " async" : "") + " type " +
         std::to_string(static_cast<int>(type)) + " mode " +
         std::to_string(static_cast<int>(config.mamba_cache_mode)) + " drafts " +
         std::to_string(config.num_speculative_tokens);
}

void expect_healthy_runs(ModelRunner runner, bool async_scheduling) {
  for (const MambaType type : {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention})
    for (const MambaCacheMode mode :
         {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all})
      for (const std::int32_t num_drafts : {0, 1, 3})
        for (const bool disturbed : {false, true}) {
          if (type == MambaType::gdn_attention && mode == MambaCacheMode::all) continue;
          // 0 and 3 are enough for most.
          if (num_drafts == 1 && (disturbed || runner == ModelRunner::v2)) continue;
          EngineConfig config = busy_engine(type, mode, num_drafts);
          config.runner = runner;
          config.async_scheduling = async_scheduling;
          std::int64_t step = 0;
          std::vector<json> lines = traced_run(config, busy_requests(), [&](Engine& engine) {
            if (disturbed) disturb(engine, ++step);
          });
          const std::string what = name_of(config, type) + (disturbed ? " disturbed" : "");
          expect_healthy(lines, what);
          strip(lines, mode == MambaCacheMode::all);
          expect_healthy(lines, what + " stripped");
        }
}

TEST(AsyncTrace, BusyRunsAreHealthyToldInFullAndStripped) {
  expect_healthy_runs(ModelRunner::v1, true);
}

TEST(RunnerV2Trace, BusyRunsAreHealthyToldInFullAndStripped) {
  expect_healthy_runs(ModelRunner::v2, false);
  expect_healthy_runs(ModelRunner::v2, true);
}

TEST(RunnerV2Trace, RowsTellTheirSlots) {
  EngineConfig config = busy_engine(MambaType::mamba2, MambaCacheMode::align, 1);
  config.runner = ModelRunner::v2;
  const std::vector<json> lines = traced_run(config, busy_requests());
  EXPECT_EQ(lines[0]["config"]["runner"], "v2");
  EXPECT_EQ(lines[1]["input_batch"]["req_ids"], json({"r1", "r2"}));
  EXPECT_EQ(lines[1]["input_batch"]["idx_mapping"], json({3, 2}));
}

}  // namespace
}  // namespace hybridscope::test::async_trace_test
