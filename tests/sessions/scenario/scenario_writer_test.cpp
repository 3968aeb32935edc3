#include "sessions/scenario/scenario_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/aligned_split_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope::scenario_writer_test {
namespace {

// Every optional part present.
Scenario full_scenario() {
  Scenario scenario;
  scenario.name = "full";
  scenario.teaches = "All keys, \"quoted\" and ü.";
  scenario.model = "tiny-mamba2";
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.kv_cache_memory_bytes = std::int64_t{1} << 30;
  scenario.settings.block_size = 8;
  scenario.settings.watermark = 0.1;
  scenario.settings.num_speculative_tokens = 2;
  scenario.settings.cudagraph_capture_sizes = {1, 2, 4};
  scenario.settings.policies.set(AlignedSplit::until_last_cache_position);
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 9},
                       {.id = "B",
                        .prompt = {.tokens = 22, .share = "A", .share_tokens = 14},
                        .priority = 2,
                        .at_step = 3,
                        .arrival_us = 1,
                        .cache_salt = 9},
                       {.id = "C", .prompt = {.tokens = 4, .share = "text", .share_tokens = 4}}};
  scenario.script = {
      {.step = 3,
       .budget = 3,
       .accept = {{"A", 2}, {"B", 1}},
       .drafts = {{"A", 0}},
       .preempt = {"A"},
       .abort = {"B"},
       .reset_prefix_cache = PrefixCacheReset::preempting_running},
      {.step = 5, .reset_prefix_cache = PrefixCacheReset::unless_running},
      {.step = 6, .engine = EngineProfile::reference, .policies = {NoDraftStep::column_zero}}};
  scenario.expect = {.findings = {{{.rule = "label-mismatch", .step = 3, .request = "A"},
                                   {.rule = "no-progress"}}},
                     .steps = 7,
                     .finished = 2};
  return scenario;
}

TEST(ScenarioWriter, WritesOneLineARequestAndAStep) {
  EXPECT_EQ(write_scenario(full_scenario()), R"({
  "version": 1,
  "name": "full",
  "teaches": "All keys, \"quoted\" and ü.",
  "model": "tiny-mamba2",
  "settings": {"mamba_cache_mode": "align", "kv_cache_memory_bytes": "1GiB", "block_size": 8, "watermark": 0.1, "speculative_config": {"num_speculative_tokens": 2}, "cudagraph_capture_sizes": [1, 2, 4], "policies": {"aligned_split": "until_last_cache_position"}},
  "requests": [
    {"id": "A", "prompt": 6, "max_tokens": 9},
    {"id": "B", "prompt": {"tokens": 22, "share": "A", "share_tokens": 14}, "priority": 2, "at_step": 3, "arrival_us": 1, "cache_salt": 9},
    {"id": "C", "prompt": {"tokens": 4, "share": "text"}}],
  "script": [
    {"step": 3, "budget": 3, "accept": {"A": 2, "B": 1}, "drafts": {"A": 0}, "preempt": ["A"], "abort": ["B"], "reset_prefix_cache": {"running": true}},
    {"step": 5, "reset_prefix_cache": true},
    {"step": 6, "engine": "reference", "policies": {"no_draft_step": "column_zero"}}],
  "expect": {"findings": [{"rule": "label-mismatch", "step": 3, "request": "A"}, {"rule": "no-progress"}], "steps": 7, "finished": 2}
}
)");
}

TEST(ScenarioWriter, WhatIsWrittenReadsBackEqual) {
  const Scenario scenario = full_scenario();
  const auto back = parse_scenario({.text = write_scenario(scenario), .file = "s.json"});
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), scenario);
}

TEST(ScenarioWriter, EverySettingReadsBackEqual) {
  Scenario scenario;
  scenario.model = "tiny-gdn";
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}}};
  for (const Setting& setting : settings_table()) {
    const std::string text =
        setting.kind == SettingKind::choice           ? std::string(setting.choices.back())
        : setting.kind == SettingKind::engine_profile ? "vllm@2026-06-29"
        : setting.kind == SettingKind::boolean        ? "false"
        : setting.kind == SettingKind::fraction       ? "0.125"
        : setting.name == "max_num_batched_tokens" || setting.name == "max_model_len" ||
                setting.name == "long_prefill_token_threshold"
            ? "4096"
            : std::to_string(std::min<std::int64_t>(setting.max, 17));
    ASSERT_TRUE(set_setting_text(scenario.settings, setting, text).ok()) << setting.name;
  }
  scenario.settings.block_size = 32;
  scenario.settings.kv_cache_memory_bytes.reset();  // gpu_memory_bytes is set
  scenario.settings.gpu_memory_bytes = 1 << 30;
  scenario.settings.ssm_conv_state_layout = ConvStateLayout::SD;  // the runner is v2
  scenario.twin.emplace();
  scenario.twin->async_scheduling = true;
  const auto back = parse_scenario({.text = write_scenario(scenario), .file = "s.json"});
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), scenario);
}

TEST(ScenarioWriter, NoFindingsIsWrittenAsAWord) {
  Scenario scenario;
  scenario.model = "tiny-gdn";
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}}};
  scenario.expect.findings.emplace();
  EXPECT_EQ(write_scenario(scenario), R"({
  "version": 1,
  "model": "tiny-gdn",
  "requests": [
    {"id": "A", "prompt": 6}],
  "expect": {"findings": "none"}
}
)");
}

}  // namespace
}  // namespace hybridscope::scenario_writer_test
