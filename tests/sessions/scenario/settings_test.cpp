#include "sessions/scenario/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope::settings_test {
namespace {

EngineSettings with(std::initializer_list<std::pair<const char*, const char*>> texts) {
  EngineSettings settings;
  for (const auto& [path, text] : texts) {
    const std::string name = path;
    const std::size_t slash = name.find('/');
    const Setting* setting = slash == std::string::npos
                                 ? find_setting("", name)
                                 : find_setting(name.substr(0, slash), name.substr(slash + 1));
    EXPECT_NE(setting, nullptr) << name;
    const Status stored = set_setting_text(settings, *setting, text);
    EXPECT_TRUE(stored.ok()) << stored.error().message;
  }
  return settings;
}

std::string conflict(const EngineSettings& settings) {
  const auto found = find_setting_conflict(settings);
  return found ? found->setting + ": " + found->message : "";
}

std::string refusal(const char* section, const char* name, const SettingValue& value) {
  EngineSettings settings;
  const Status stored = set_setting(settings, *find_setting(section, name), value);
  EXPECT_EQ(settings, EngineSettings{});
  return stored.ok() ? "" : stored.error().message;
}

TEST(SettingsTable, HeadersOfTracesHoldTheseInThisOrder) {
  std::vector<std::string_view> names;
  for (const Setting* setting : traced_settings()) names.push_back(trace_key(*setting));
  EXPECT_THAT(names, testing::ElementsAre(
                         "mamba_cache_mode", "block_size", "enable_prefix_caching",
                         "num_speculative_tokens", "speculative_method", "max_model_len",
                         "max_num_seqs", "max_num_batched_tokens", "scheduling_policy",
                         "enable_chunked_prefill", "long_prefill_token_threshold",
                         "scheduler_reserve_full_isl", "watermark", "async_scheduling", "runner",
                         "cudagraph_mode", "cudagraph_capture_sizes", "kv_consumer"));
}

TEST(SettingsTable, AConfigurationGivesBackWhatWasStoredInIt) {
  EngineConfig config;
  store_in_config(with({{"watermark", "0.25"},
                        {"scheduling_policy", "priority"},
                        {"kv_consumer", "true"},
                        {"seed", "7"},
                        {"cudagraph_capture_sizes", "1,2,4"},
                        {"step_cost/base_us", "100"}}),
                  config);
  EXPECT_EQ(config.watermark, 0.25);
  EXPECT_EQ(config.seed, 7U);
  EXPECT_EQ(config.long_prefill_token_threshold, 0);  // left alone
  const EngineSettings settings = settings_of(config);
  EXPECT_EQ(settings.watermark, 0.25);
  EXPECT_EQ(settings.scheduling_policy, SchedulingPolicy::priority);
  EXPECT_EQ(settings.kv_consumer, true);
  EXPECT_EQ(settings.seed, 7);
  EXPECT_THAT(*settings.cudagraph_capture_sizes, testing::ElementsAre(1, 2, 4));
  EXPECT_EQ(settings.max_cudagraph_capture_size, std::nullopt);
  EXPECT_EQ(settings.step_cost_base_us, 100);
  EXPECT_EQ(settings.engine, EngineProfile::safe);
}

TEST(SettingsTable, NamesAreUniqueWithinTheirSection) {
  std::set<std::string> paths;
  for (const Setting& setting : settings_table()) paths.insert(setting_path(setting));
  EXPECT_EQ(paths.size(), settings_table().size());
}

TEST(SettingsTable, EveryRowHasHelpAndDefault) {
  for (const Setting& setting : settings_table()) {
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_FALSE(setting.default_text.empty()) << setting.name;
    EXPECT_EQ(setting.kind == SettingKind::choice, !setting.choices.empty()) << setting.name;
  }
}

TEST(SettingsTable, EveryChoiceReadsBackAsItsText) {
  for (const Setting& setting : settings_table())
    for (const std::string_view choice : setting.choices) {
      EngineSettings settings;
      ASSERT_TRUE(set_setting_text(settings, setting, choice).ok());
      EXPECT_EQ(get_setting(settings, setting), SettingValue(std::string(choice)));
    }
}

TEST(SettingsTable, ChoicesAreInTheOrderOfTheirEnums) {
  const EngineSettings settings = with({{"mamba_cache_mode", "align"},
                                        {"mamba_ssm_cache_dtype", "float32"},
                                        {"kv_cache_dtype", "fp8_e4m3"},
                                        {"ssm_conv_state_layout", "DS"},
                                        {"scheduling_policy", "priority"},
                                        {"speculative_config/method", "ngram"},
                                        {"cudagraph_mode", "FULL_DECODE_ONLY"},
                                        {"runner", "v2"},
                                        {"attention_backend", "triton"},
                                        {"optimization_level", "1"},
                                        {"engine", "reference"}});
  EXPECT_EQ(settings.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(settings.mamba_ssm_cache_dtype, CacheDtypeName::float32);
  EXPECT_EQ(settings.kv_cache_dtype, KVCacheDtype::fp8_e4m3);
  EXPECT_EQ(settings.ssm_conv_state_layout, ConvStateLayout::DS);
  EXPECT_EQ(settings.scheduling_policy, SchedulingPolicy::priority);
  EXPECT_EQ(settings.speculative_method, SpeculativeMethod::ngram);
  EXPECT_EQ(settings.cudagraph_mode, CUDAGraphMode::full_decode_only);
  EXPECT_EQ(settings.engine, EngineProfile::reference);
  EXPECT_EQ(settings.runner, ModelRunner::v2);
  EXPECT_EQ(settings.attention_backend, AttentionBackend::triton);
  EXPECT_EQ(settings.optimization_level, OptimizationLevel::O1);
}

TEST(SettingsTable, TextsOfEveryKindAreRead) {
  const EngineSettings settings = with({{"kv_cache_memory_bytes", "60GiB"},
                                        {"max_num_seqs", "128"},
                                        {"watermark", "0.25"},
                                        {"enable_chunked_prefill", "false"},
                                        {"cudagraph_capture_sizes", "1,2,4"},
                                        {"step_cost/base_us", "0"}});
  EXPECT_EQ(settings.kv_cache_memory_bytes, 64424509440);
  EXPECT_EQ(settings.max_num_seqs, 128);
  EXPECT_EQ(settings.watermark, 0.25);
  EXPECT_EQ(settings.enable_chunked_prefill, false);
  EXPECT_THAT(*settings.cudagraph_capture_sizes, testing::ElementsAre(1, 2, 4));
  EXPECT_EQ(settings.step_cost_base_us, 0);
}

TEST(Settings, ARefusedValueNamesSettingValueAndRange) {
  EXPECT_EQ(refusal("", "max_num_seqs", std::int64_t{0}),
            "max_num_seqs is 0 (allowed: an integer from 1 to 65536)");
  EXPECT_EQ(refusal("", "max_num_seqs", 2.5),
            "max_num_seqs is 2.5 (allowed: an integer from 1 to 65536)");
  EXPECT_EQ(refusal("", "acceptance_rate", 1.5),
            "acceptance_rate is 1.5 (allowed: a number from 0 to 1)");
  EXPECT_EQ(refusal("", "mamba_cache_mode", std::string("aligned")),
            "mamba_cache_mode is \"aligned\" (allowed: one of none, all, align)");
  EXPECT_EQ(refusal("", "enable_prefix_caching", std::int64_t{1}),
            "enable_prefix_caching is 1 (allowed: true or false)");
  EXPECT_EQ(refusal("", "kv_cache_memory_bytes", std::string("60Gi")),
            "kv_cache_memory_bytes is \"60Gi\" (allowed: bytes from 1 to 9223372036854775807, such "
            "as 60GiB or 512MiB)");
  EXPECT_EQ(refusal("", "cudagraph_capture_sizes", std::vector<std::int64_t>{1, -2}),
            "cudagraph_capture_sizes is [1, -2] (allowed: a list of integers from 1 to 1048576)");
  EXPECT_EQ(refusal("speculative_config", "num_speculative_tokens", std::int64_t{65}),
            "num_speculative_tokens is 65 (allowed: an integer from 0 to 64)");
  EXPECT_EQ(refusal("", "num_gpu_blocks_override", std::int64_t{1}),
            "num_gpu_blocks_override is 1 (allowed: an integer from 2 to 268435456)");
}

// What vLLM has and we do not: the error says what to do instead.
TEST(Settings, AValueThatIsNotModelledIsRefusedWithTheReason) {
  EXPECT_EQ(refusal("", "pipeline_parallel_size", std::int64_t{2}),
            "pipeline_parallel_size is 2, which is not modelled: each stage has its own layers, "
            "blocks and frames in flight; set 1, and describe the layers of one stage in a "
            "config.json to see its pages and blocks (allowed: only 1)");
  for (const char* method : {"eagle", "eagle3"})
    EXPECT_EQ(refusal("speculative_config", "method", std::string(method)),
              std::string("method is \"") + method +
                  "\", which is not modelled: the draft model's own layers are in no group; method "
                  "mtp drafts, drops blocks of hits and schedules by the same rules (allowed: one "
                  "of none, mtp, ngram, draft_model)");
  for (const char* method : {"dflash", "dspark"})
    EXPECT_THAT(refusal("speculative_config", "method", std::string(method)),
                testing::HasSubstr("in no group; method mtp is the nearest, but dflash has one "
                                   "look-ahead slot more, and from 0.33.0 on neither dflash nor "
                                   "dspark drops a block of a hit (allowed: "));
  EXPECT_EQ(refusal("", "kv_cache_dtype", std::string("nvfp4")),
            "kv_cache_dtype is \"nvfp4\", which is not modelled: values of other sizes and scales "
            "lie beside the keys; fp8 has one byte an element (allowed: one of auto, float16, "
            "bfloat16, fp8, fp8_e4m3, fp8_e5m2)");
  EXPECT_THAT(
      refusal("speculative_config", "method", std::string("qwen3_next_mtp")),
      testing::StartsWith("method is \"qwen3_next_mtp\", which is not modelled: vLLM runs it "
                          "as method mtp: set mtp (allowed: "));
  EXPECT_THAT(refusal("speculative_config", "method", std::string("medusa")),
              testing::StartsWith("method is \"medusa\", which is not modelled: its own weights"));
  EXPECT_EQ(refusal("", "kv_cache_dtype", std::string("fp9")),
            "kv_cache_dtype is \"fp9\" (allowed: one of auto, float16, bfloat16, fp8, fp8_e4m3, "
            "fp8_e5m2)");
}

TEST(Settings, ADayThatIsInNoCalendarIsNoProfile) {
  EXPECT_THAT(
      refusal("", "engine", std::string("vllm@2026-02-30")),
      testing::StartsWith("engine is \"vllm@2026-02-30\", there is no such day (allowed: "));
}

TEST(Settings, ADayThatHasNotComeIsNoProfile) {
  EXPECT_TRUE(parse_engine_profile("vllm@2026-06-29"));
  EXPECT_FALSE(parse_engine_profile("vllm@2098-01-01"));
  EXPECT_THAT(
      refusal("", "engine", std::string("vllm@2098-01-01")),
      testing::StartsWith("engine is \"vllm@2098-01-01\", a day that has not come (allowed: "));
}

TEST(Settings, MemoryOfAGpuIsSplitIntoWhatTheEngineTakesAndWhatIsLeft) {
  const GpuMemory memory = resolved_gpu_memory(with({{"gpu_memory_bytes", "80GiB"},
                                                     {"gpu_memory_utilization", "0.9"},
                                                     {"weights_memory_bytes", "40GiB"},
                                                     {"activation_memory_bytes", "2GiB"}}))
                               .value();
  EXPECT_EQ(memory.requested, 77309411328);  // 72 GiB
  EXPECT_EQ(memory.left(), std::int64_t{30} << 30);
  EXPECT_EQ(resolved_gpu_memory(with({{"gpu_memory_bytes", "100"}}))->requested, 92);  // by default
  EXPECT_EQ(resolved_gpu_memory(with({{"gpu_memory_bytes", "101"}}))->requested, 93);  // 92.92
  EXPECT_EQ(resolved_gpu_memory({}), std::nullopt);
}

TEST(Settings, MemoryOfAGpuNeedsWhatTheWeightsTake) {
  const auto conflict = [](std::initializer_list<std::pair<const char*, const char*>> settings) {
    const auto found = find_setting_conflict(with(settings));
    return found ? found->message : std::string();
  };
  EXPECT_EQ(conflict({{"gpu_memory_bytes", "80GiB"}}),
            "gpu_memory_bytes is set without weights_memory_bytes, which it needs");
  EXPECT_EQ(conflict({{"gpu_memory_utilization", "0.9"}}),
            "gpu_memory_utilization is set without gpu_memory_bytes, which it needs");
  EXPECT_EQ(conflict({{"weights_memory_bytes", "1GiB"}}),
            "weights_memory_bytes is set without gpu_memory_bytes, which it needs");
  EXPECT_EQ(conflict({{"activation_memory_bytes", "1GiB"}}),
            "activation_memory_bytes is set without gpu_memory_bytes, which it needs");
  EXPECT_EQ(conflict({{"gpu_memory_bytes", "100"},
                      {"gpu_memory_utilization", "0.5"},
                      {"weights_memory_bytes", "40"},
                      {"activation_memory_bytes", "10"}}),
            "gpu_memory_bytes 100 * gpu_memory_utilization 0.5 is 50, of which weights take 40 and "
            "activations 10: nothing is left for blocks");
  EXPECT_EQ(conflict({{"gpu_memory_bytes", "100"},
                      {"weights_memory_bytes", "40"},
                      {"kv_cache_memory_bytes", "10"}}),
            "kv_cache_memory_bytes and gpu_memory_bytes are both set (expected one: with the "
            "first, vLLM ignores gpu_memory_utilization)");
  EXPECT_EQ(conflict({{"gpu_memory_bytes", "100"}, {"weights_memory_bytes", "40"}}), "");
}

// As vLLM's flag takes it: every state is kept, whatever the release does by default.
TEST(Settings, ARetentionIntervalMayBeNone) {
  for (const char* text : {"None", "none"}) {
    const EngineSettings settings = with({{"prefix_cache_retention_interval", text}});
    EXPECT_EQ(settings_to_json(settings).dump(), R"({"prefix_cache_retention_interval":"None"})");
  }
  const nlohmann::json null = {{"prefix_cache_retention_interval", nullptr}};
  EXPECT_EQ(read_settings(JsonValue(null)).prefix_cache_retention_interval, kRetainsAll);
  EXPECT_EQ(refusal("", "prefix_cache_retention_interval", setting_value<std::int64_t>(-1).value()),
            "prefix_cache_retention_interval is -1 (allowed: an integer from 0 to 16777216, or "
            "None)");
  EXPECT_EQ(refusal("", "max_num_seqs", setting_value<std::string>("None").value()),
            "max_num_seqs is \"None\" (allowed: an integer from 1 to 65536)");
}

TEST(Settings, TextsThatAreNoValueAreRefused) {
  for (const auto& [name, text] : {std::pair{"max_num_seqs", "12x"},
                                   {"max_num_seqs", ""},
                                   {"max_num_seqs", "99999999999999999999"},
                                   {"watermark", "nan"},
                                   {"watermark", "-0.1"},
                                   {"enable_chunked_prefill", "yes"},
                                   {"cudagraph_capture_sizes", "1,,2"},
                                   {"seed", "-1"}}) {
    EngineSettings settings;
    EXPECT_FALSE(set_setting_text(settings, *find_setting("", name), text).ok()) << name << text;
  }
}

TEST(Settings, SpeculationNeedsMethodAndTokensTogether) {
  EXPECT_EQ(conflict(with({{"speculative_config/method", "mtp"}})),
            "speculative_config/method: method drafts tokens but num_speculative_tokens is 0 "
            "(expected at least 1)");
  EXPECT_EQ(
      conflict(with({{"speculative_config/method", "none"},
                     {"speculative_config/num_speculative_tokens", "2"}})),
      "speculative_config/method: method is none but num_speculative_tokens is 2 (expected mtp, "
      "ngram or draft_model, or 0 tokens)");
}

TEST(Settings, TokensWithoutAMethodMeanMtp) {
  const EngineSettings settings = with({{"speculative_config/num_speculative_tokens", "2"}});
  EXPECT_EQ(conflict(settings), "");
  EXPECT_EQ(resolved_speculative_method(settings), SpeculativeMethod::mtp);
  EXPECT_EQ(resolved_speculative_method(EngineSettings{}), SpeculativeMethod::none);
}

TEST(Settings, AVerifyWindowMustFitABlock) {
  EXPECT_EQ(
      conflict(with({{"block_size", "4"}, {"speculative_config/num_speculative_tokens", "3"}})),
      "");
  EXPECT_EQ(
      conflict(with({{"block_size", "4"}, {"speculative_config/num_speculative_tokens", "4"}})),
      "speculative_config/num_speculative_tokens: num_speculative_tokens is 4, but 1 + 4 tokens "
      "do not fit a block of 4 (expected at most 3)");
}

TEST(Settings, InModeNoneAVerifyWindowNeedsNoBlock) {
  EXPECT_EQ(conflict(with({{"block_size", "4"},
                           {"mamba_cache_mode", "none"},
                           {"speculative_config/num_speculative_tokens", "4"}})),
            "");
}

TEST(Settings, ModeAlignNeedsABlockPerStep) {
  EXPECT_EQ(
      conflict(with(
          {{"mamba_cache_mode", "align"}, {"block_size", "16"}, {"max_num_batched_tokens", "8"}})),
      "max_num_batched_tokens: max_num_batched_tokens is 8, less than one block of 16 tokens, "
      "so mode align could never finish a block (expected at least 16)");
  EXPECT_EQ(
      conflict(with({{"mamba_cache_mode", "align"},
                     {"block_size", "16"},
                     {"long_prefill_token_threshold", "8"}})),
      "long_prefill_token_threshold: long_prefill_token_threshold is 8, less than one block of "
      "16 tokens, so mode align could never finish a block (expected 0 or at least 16)");
}

TEST(Settings, CaptureSizesMustNotBeEmpty) {
  EngineSettings settings;
  settings.cudagraph_capture_sizes.emplace();
  EXPECT_EQ(conflict(settings),
            "cudagraph_capture_sizes: cudagraph_capture_sizes is empty (expected at least one "
            "size)");
  EXPECT_EQ(conflict(with({{"cudagraph_capture_sizes", "8,2,2"}})), "");
}

TEST(Settings, RunnerV2RefusesDraftsInTheDsLayout) {
  const EngineSettings asked = with({{"speculative_config/num_speculative_tokens", "2"},
                                     {"ssm_conv_state_layout", "DS"},
                                     {"runner", "v2"}});
  EXPECT_EQ(conflict(asked),
            "ssm_conv_state_layout: ssm_conv_state_layout is DS with speculative tokens on runner "
            "v2, which refuses it at start-up (expected SD, or runner v1)");
}

TEST(Settings, TheRunnerOfAHybridModelIsV1UnlessSet) {
  EXPECT_EQ(resolved_runner({}), ModelRunner::v1);
  EXPECT_EQ(resolved_runner(with({{"runner", "v2"}})), ModelRunner::v2);
}

TEST(Settings, AThresholdMustLeaveRoomForDraftsAndFitTheModel) {
  EXPECT_EQ(conflict(with({{"long_prefill_token_threshold", "2"},
                           {"speculative_config/num_speculative_tokens", "2"}})),
            "long_prefill_token_threshold: long_prefill_token_threshold is 2, less than the 1 + 2 "
            "tokens of a decode with drafts (expected 0 or at least 3)");
  EXPECT_EQ(
      conflict(with({{"long_prefill_token_threshold", "200"}, {"max_model_len", "100"}})),
      "long_prefill_token_threshold: long_prefill_token_threshold is 200, more than max_model_len "
      "100");
}

TEST(Policies, FollowTheProfileUnlessOverridden) {
  EXPECT_EQ(resolve_policies(EngineSettings{}), safe_policies());
  EXPECT_EQ(resolve_policies(with({{"engine", "reference"}})), reference_policies());
  PolicySet expected = safe_policies();
  expected.set(NoDraftStep::column_zero);
  EXPECT_EQ(resolve_policies(with({{"policies/no_draft_step", "column_zero"}})), expected);
}

TEST(Policies, OverridesOfAllPoliciesTurnPagesIntoSafe) {
  EngineSettings settings =
      with({{"engine", "reference"},
            {"policies/mamba_eagle_lookahead", "none"},
            {"policies/full_attention_cut", "every_group"},
            {"policies/block_registration", "planned_then_published"},
            {"policies/reachable_boundaries", "replay_and_block_before_junction"},
            {"policies/hits_inside_blocks", "with_smaller_hash_blocks"},
            {"policies/prompt_tail_key", "at_replay_position_once"},
            {"policies/prefill_checkpoint", "as_states_retained"},
            {"policies/aligned_split", "every_chunk_on_grid"},
            {"policies/row_classing", "by_meaning"},
            {"policies/accepted_count_owner", "request"},
            {"policies/one_token_prompt", "as_is"},
            {"policies/no_draft_step", "verify_with_counts"},
            {"policies/uniform_decode_test", "by_row_class"},
            {"policies/all_mode_speculation", "remembered_column_and_boundary_copies"},
            {"policies/stale_frame", "dropped_by_run"},
            {"policies/reset_preemptions", "reported"},
            {"policies/accepted_count_landing", "after_row_moves"},
            {"policies/deferred_free_refusal", "wait_for_the_frame"},
            {"policies/row_order", "decodes_then_query_len"},
            {"policies/initial_state_column", "mamba_block_size"},
            {"policies/slot_count_reset", "every_mode"},
            {"policies/conv_state_sizing", "kernel_plus_spec"}});
  EXPECT_EQ(resolve_policies(settings), safe_policies());
}

}  // namespace
}  // namespace hybridscope::settings_test
