// Traces of asynchronous scheduling, where a line's frame was scheduled before the frame of the
// line before it returned, and of runner V2 (docs/trace-format.md; semantics: request-slots,
// frame-phases).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/engine/policy_table.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/property.h"
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

// Drawn runs of our own engine with asynchronous scheduling or runner V2: the judge finds nothing
// in their traces, trace in full or stripped, and the comparison no difference.

using Lines = std::vector<nlohmann::json>;

SmallEngine drawn_engine() {
  SmallEngine small;
  small.mamba_type = one_in(2) ? MambaType::gdn_attention : MambaType::mamba2;
  small.mode = one_in(3) ? MambaCacheMode::none : MambaCacheMode::align;
  small.num_speculative_tokens = draw(0, 3);
  small.num_blocks = draw(24, 44);
  small.num_mamba_groups = draw(1, 2);
  small.max_model_len = 72;
  small.max_num_seqs = draw(2, 5);
  small.max_num_batched_tokens = draw(8, 40);
  return small;
}

std::vector<AddRequest> drawn_requests() {
  std::vector<AddRequest> requests;
  for (std::int32_t i = draw(1, 7); i > 0; --i) {
    const std::int32_t prompt = draw(1, 40);
    requests.push_back(request_of(prompt, draw(1, 24), static_cast<std::uint64_t>(i),
                                  std::min(draw(0, 3) * 8, prompt)));
  }
  return requests;
}

constexpr std::int32_t kNumDisturbedSteps = 16;
constexpr std::int32_t kMaxSteps = 1000;  // more than any run needs

enum class Commands : std::uint8_t {
  none,
  resets,  // told apart from everything else by a trace; an abort may pass for a stop
  any,
};

Lines drawn_run(const EngineConfig& config, Commands commands) {
  const std::vector<AddRequest> requests = drawn_requests();
  const auto last = static_cast<std::int32_t>(requests.size()) - 1;
  std::int32_t step = 0;
  return traced_run(config, requests, [&](Engine& engine) {
    RC_ASSERT(++step < kMaxSteps);
    if (step > kNumDisturbedSteps || commands == Commands::none) return;
    const auto give = [&](const Command& command) { RC_ASSERT(engine.apply(command).ok()); };
    if (one_in(12)) give(ResetPrefixCache{.reset_running_requests = true});
    if (commands == Commands::resets) return;
    if (one_in(12)) give(AbortRequest{{draw(0, last)}});
    if (one_in(8)) give(PreemptRequest{{draw(0, last)}});
    if (one_in(8)) give(SetStepBudget{8});
  });
}

// The first finding that no healthy run has, or the error; empty for none.
std::string fault_of(const Lines& lines) {
  const Judgement judgement = judge(lines);
  if (!judgement.error.empty()) return judgement.error;
  const auto fault = std::ranges::find_if(judgement.findings, [](const std::string& finding) {
    return !finding.starts_with("chunk-off-grid") && !finding.starts_with("drafts-cut");
  });
  return fault == judgement.findings.end() ? "" : *fault;
}

TEST(AsyncRunProperty, TracesAreHealthyToldInFullAndStripped) {
  check_property(20, [] {
    EngineConfig config = engine_config(drawn_engine());
    config.runner = one_in(2) ? ModelRunner::v2 : ModelRunner::v1;
    config.async_scheduling = config.runner == ModelRunner::v1 || one_in(2);
    Lines lines = drawn_run(config, Commands::any);
    RC_ASSERT(fault_of(lines) == "");
    strip(lines);
    RC_ASSERT(fault_of(lines) == "");
  });
}

TEST(AsyncRunProperty, TracesAgreeWithTheProfileTheyWereMadeUnder) {
  check_property(20, [] {
    SmallEngine small = drawn_engine();
    // A request that is reset with a frame in flight may never end under reference (known bug 51).
    const bool reference = one_in(2);
    small.policies = reference ? reference_policies() : safe_policies();
    EngineConfig config = engine_config(small);
    config.async_scheduling = true;
    const Lines lines = drawn_run(config, reference ? Commands::none : Commands::resets);
    RC_ASSERT(first_difference(lines, small.policies) == "");
  });
}

}  // namespace

}  // namespace hybridscope::test::async_trace_test
