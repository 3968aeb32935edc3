#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/policy_set.h"
#include "tests/sessions/judge/judged_run.h"

namespace hybridscope::trace_header_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// Three groups: attention blocks of 12, states every 8 and every 18 tokens.
Json small_config() {
  return Json::parse(R"({
    "mamba_cache_mode": "align", "num_gpu_blocks": 46, "max_model_len": 90, "max_num_seqs": 4,
    "max_num_batched_tokens": 16,
    "kv_cache_groups": [{"type": "full_attention", "block_size": 12},
                        {"type": "mamba", "block_size": 8},
                        {"type": "mamba", "block_size": 18}]})");
}

ForeignHeader header_of(const Json& config, const std::string& engine = "") {
  TraceReader reader("t.jsonl");
  const Json line = {{"hybridscope_trace", 1}, {"engine", engine}, {"config", config}};
  EXPECT_EQ(test::read_error(reader, {line}), "");
  return reader.header();
}

TEST(TraceHeader, WhatIsLeftOutHasItsDefault) {
  const ForeignHeader header = header_of(small_config());
  EXPECT_EQ(header.name, "");
  EXPECT_EQ(header.engine, "");
  const EngineConfig& config = header.config;
  EXPECT_EQ(config.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_FALSE(config.enable_prefix_caching);
  EXPECT_EQ(config.num_speculative_tokens, 0);
  EXPECT_EQ(config.speculative_method, SpeculativeMethod::none);
  EXPECT_EQ(config.conv_kernel, 4);
  EXPECT_EQ(config.chunk_size, 256);
  EXPECT_EQ(config.scheduling_policy, SchedulingPolicy::fcfs);
  EXPECT_TRUE(config.enable_chunked_prefill);
  EXPECT_EQ(config.long_prefill_token_threshold, 0);
  EXPECT_TRUE(config.scheduler_reserve_full_isl);
  EXPECT_EQ(config.watermark, 0.0);
  EXPECT_FALSE(config.async_scheduling);
  EXPECT_EQ(config.runner, ModelRunner::v1);
  EXPECT_EQ(config.cudagraph_mode, CUDAGraphMode::none);
  EXPECT_THAT(config.cudagraph_capture_sizes, IsEmpty());
  EXPECT_EQ(config.policies, safe_policies());
}

TEST(TraceHeader, WithoutAReorderBatchThresholdRowsStayAsCondensed) {
  Json config = small_config();
  EXPECT_EQ(header_of(config).config.batch_order, BatchOrder::by_region);
  config["reorder_batch_threshold"] = nullptr;
  EXPECT_EQ(header_of(config).config.batch_order, BatchOrder::as_condensed);
}

TEST(TraceHeader, SchedulingMayBeAsynchronousAndTheRunnerV2) {
  Json config = small_config();
  config["async_scheduling"] = true;
  config["runner"] = "v2";
  EXPECT_TRUE(header_of(config).config.async_scheduling);
  EXPECT_EQ(header_of(config).config.runner, ModelRunner::v2);
}

TEST(TraceHeader, ARetentionIntervalThatIsNotToldIsTheOneOfTheRelease) {
  const auto interval = [](const Json& config, const std::string& engine) {
    return header_of(config, engine).config.prefix_cache_retention_interval;
  };
  Json config = small_config();
  EXPECT_EQ(interval(config, "vllm 0.33.0"), 0);
  EXPECT_EQ(interval(config, "vllm 0.33.0+cu130"), 0);
  EXPECT_EQ(interval(config, "vllm 0.28.0"), std::nullopt);
  EXPECT_EQ(interval(config, "vllm"), std::nullopt);
  config["prefix_cache_retention_interval"] = nullptr;
  EXPECT_EQ(interval(config, "vllm 0.33.0"), std::nullopt);
  config["prefix_cache_retention_interval"] = 24;
  EXPECT_EQ(interval(config, ""), 24);
}

TEST(TraceHeader, ARetentionIntervalIsUnknownIfNeitherItNorTheReleaseIsTold) {
  Json config = small_config();
  EXPECT_FALSE(header_of(config, "vllm 0.33.0").retention_unknown);
  EXPECT_FALSE(header_of(config, "another engine").retention_unknown);
  for (const std::string engine : {"vllm", "vllm 0.34.0", "vllm 0.33.0rc1+cu130"})
    EXPECT_TRUE(header_of(config, engine).retention_unknown) << engine;
  config["prefix_cache_retention_interval"] = nullptr;
  EXPECT_FALSE(header_of(config, "vllm 0.34.0").retention_unknown);
}

TEST(TraceHeader, BlockSizesComeFromTheGroups) {
  const EngineConfig config = header_of(small_config()).config;
  EXPECT_EQ(config.block_size, 8);
  EXPECT_EQ(config.hash_block_size, 2);
  EXPECT_EQ(config.scheduler_block_size, 72);
}

TEST(TraceHeader, BlockSizesThatAreToldCount) {
  Json traced = small_config();
  traced["block_size"] = 12;
  traced["hash_block_size"] = 1;
  traced["scheduler_block_size"] = 144;
  const EngineConfig config = header_of(traced).config;
  EXPECT_EQ(config.block_size, 12);
  EXPECT_EQ(config.hash_block_size, 1);
  EXPECT_EQ(config.scheduler_block_size, 144);
}

TEST(TraceHeader, ASchedulerBlockSizeBeyond32BitsHasToBeTraced) {
  Json large = small_config();
  large["kv_cache_groups"][0]["block_size"] = 16777213;
  large["kv_cache_groups"][1]["block_size"] = 16777215;
  EXPECT_EQ(test::read_error({{{"hybridscope_trace", 1}, {"config", large}}}),
            "t.jsonl:1: /config: the least common multiple of the groups' block sizes is above "
            "2147483647 (expected a scheduler_block_size)");
  large["scheduler_block_size"] = 16;
  EXPECT_EQ(header_of(large).config.scheduler_block_size, 16);
}

TEST(TraceHeader, EverythingThatIsToldCounts) {
  Json traced = small_config();
  traced.update(Json::parse(R"({
    "mamba_cache_mode": "all", "enable_prefix_caching": true, "num_speculative_tokens": 2,
    "speculative_method": "ngram", "conv_kernel": 3, "chunk_size": 64,
    "scheduling_policy": "priority", "enable_chunked_prefill": false,
    "long_prefill_token_threshold": 5, "scheduler_reserve_full_isl": false, "watermark": 0.25,
    "cudagraph_mode": "FULL_AND_PIECEWISE", "cudagraph_capture_sizes": [1, 2, 4]})"));
  const EngineConfig config = header_of(traced).config;
  EXPECT_EQ(config.mamba_cache_mode, MambaCacheMode::all);
  EXPECT_TRUE(config.enable_prefix_caching);
  EXPECT_EQ(config.num_speculative_tokens, 2);
  EXPECT_EQ(config.speculative_method, SpeculativeMethod::ngram);
  EXPECT_EQ(config.conv_kernel, 3);
  EXPECT_EQ(config.chunk_size, 64);
  EXPECT_EQ(config.scheduling_policy, SchedulingPolicy::priority);
  EXPECT_FALSE(config.enable_chunked_prefill);
  EXPECT_EQ(config.long_prefill_token_threshold, 5);
  EXPECT_FALSE(config.scheduler_reserve_full_isl);
  EXPECT_EQ(config.watermark, 0.25);
  EXPECT_EQ(config.cudagraph_mode, CUDAGraphMode::full_and_piecewise);
  EXPECT_THAT(config.cudagraph_capture_sizes, ElementsAre(1, 2, 4));
  EXPECT_EQ(config.max_num_seqs, 4);
  EXPECT_EQ(config.max_num_batched_tokens, 16);
  EXPECT_EQ(config.max_model_len, 90);
}

TEST(TraceHeader, DraftsAreMtpUnlessToldOtherwise) {
  Json traced = small_config();
  traced["num_speculative_tokens"] = 1;
  EXPECT_EQ(header_of(traced).config.speculative_method, SpeculativeMethod::mtp);
  EXPECT_TRUE(header_of(traced).use_eagle);
  traced["use_eagle"] = false;
  EXPECT_FALSE(header_of(traced).use_eagle);
  EXPECT_EQ(header_of(traced).config.speculative_method, SpeculativeMethod::ngram);
}

TEST(TraceHeader, AMethodWithoutDraftsIsNone) {
  Json traced = small_config();
  traced["speculative_method"] = "mtp";
  EXPECT_EQ(header_of(traced).config.speculative_method, SpeculativeMethod::none);
  EXPECT_FALSE(header_of(traced).use_eagle);
}

TEST(TraceHeader, GroupsAreSpecsInTheirOrder) {
  Json traced = small_config();
  traced["num_speculative_tokens"] = 2;
  traced["kv_cache_groups"][0]["is_eagle_group"] = true;
  traced["kv_cache_groups"][1]["mamba_type"] = "gdn_attention";
  traced["kv_cache_groups"][1]["num_speculative_blocks"] = 5;
  const KVCacheConfig config = header_of(traced).config.kv_cache_config;
  EXPECT_EQ(config.num_blocks, 46);
  ASSERT_EQ(config.groups.size(), 3U);
  EXPECT_FALSE(config.groups[0].is_mamba());
  EXPECT_TRUE(config.groups[0].is_eagle_group);
  EXPECT_EQ(config.groups[0].block_size(), 12);
  const auto& gdn = std::get<MambaSpec>(config.groups[1].spec);
  EXPECT_EQ(gdn.mamba_type, MambaType::gdn_attention);
  EXPECT_EQ(gdn.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(gdn.num_speculative_blocks, 5);
  const auto& mamba2 = std::get<MambaSpec>(config.groups[2].spec);
  EXPECT_EQ(mamba2.mamba_type, MambaType::mamba2);
  EXPECT_EQ(mamba2.num_speculative_blocks, 2);
}

TEST(TraceHeader, WithoutStoredStatesAMambaBlockIsAsLongAsTheModel) {
  Json traced = small_config();
  traced["mamba_cache_mode"] = "none";
  const EngineConfig config = header_of(traced).config;
  EXPECT_EQ(config.kv_cache_config.groups[1].block_size(), 90);
  EXPECT_EQ(config.kv_cache_config.groups[2].block_size(), 90);
  EXPECT_EQ(config.block_size, 12);
}

// Rules of bad input that take more than one changed value.

TEST(TraceRules, TheFirstLineIsAHeader) {
  EXPECT_EQ(test::read_error({test::healthy_trace()[1]}),
            "t.jsonl:1: key \"hybridscope_trace\" is missing (expected a header first)");
}

TEST(TraceRules, NothingIsReadBeforeAHeaderThatIsBroken) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"].erase("max_num_seqs");
  TraceReader reader("t.jsonl");
  EXPECT_NE(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.read_line(lines[1].dump(), 2).error().message,
            "t.jsonl:2: key \"hybridscope_trace\" is missing (expected a header first)");
}

TEST(TraceRules, DraftsAreAtMostKHoweverManyTokensRun) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["scheduler_output"]["num_scheduled_tokens"]["a"] = 8;
  lines[2]["scheduler_output"]["scheduled_spec_decode_tokens"]["a"] = {1, 2, 3};
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:3: /scheduler_output/scheduled_spec_decode_tokens/a: length 3, expected at "
            "most 2 (num_speculative_tokens)");
}

TEST(TraceRules, RowsFitTheBatch) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"]["max_num_seqs"] = 1;
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:2: /scheduler_output/num_scheduled_tokens: 2 requests, expected at most 1 "
            "(max_num_seqs)");
}

TEST(TraceRules, SlotsAreFewerThanMaxNumSeqs) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"]["runner"] = "v2";
  lines[2]["input_batch"]["idx_mapping"] = {0, 4};
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:3: /input_batch/idx_mapping/1: expected an integer from 0 to 3, found 4");
}

TEST(TraceRules, AcceptedCountsMayBeLeftOutWhereTheHostDoesNotHaveThem) {
  for (const auto& [key, value] : {std::pair<std::string, Json>{"async_scheduling", true},
                                   std::pair<std::string, Json>{"runner", "v2"}}) {
    std::vector<Json> lines = test::healthy_trace();
    lines[0]["config"][key] = value;
    for (std::size_t i : {1U, 2U}) lines[i]["input_batch"].erase("num_accepted_tokens_cpu");
    EXPECT_EQ(test::read_error(lines), "") << key;
  }
}

TEST(TraceRules, AResumedRequestIsOneOfTheCached) {
  std::vector<Json> lines = test::healthy_trace();
  Json& cached = lines[2]["scheduler_output"]["scheduled_cached_reqs"];
  cached = Json::parse(R"({"req_ids": ["a"], "resumed_req_ids": ["b"], "new_block_ids": [null],
                           "num_computed_tokens": [2]})");
  EXPECT_EQ(
      test::read_error(lines),
      "t.jsonl:3: /scheduler_output/scheduled_cached_reqs/resumed_req_ids/0: request \"b\" is "
      "not in req_ids");
}

TEST(TraceRules, ARequestThatIsNotScheduledHasNoRow) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["scheduler_output"]["scheduled_cached_reqs"] =
      Json::parse(R"({"req_ids": ["a"], "new_block_ids": [null], "num_computed_tokens": [2]})");
  lines[2]["scheduler_output"]["num_scheduled_tokens"] = {{"a", 3}};
  lines[2]["scheduler_output"]["scheduled_spec_decode_tokens"].erase("b");
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:3: /input_batch/req_ids/1: request \"b\" is not in num_scheduled_tokens");
}

// The healthy step 2 with `found` in its text replaced.
std::string error_of_text(const std::string& found, const std::string& replacement) {
  const std::vector<Json> lines = test::healthy_trace();
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, {lines[0], lines[1]}), "");
  std::string text = lines[2].dump();
  text.replace(text.find(found), found.size(), replacement);
  const auto read = reader.read_line(text, 3);
  return read.ok() ? "" : read.error().message;
}

TEST(TraceRules, AMapNamesARequestOnce) {
  EXPECT_EQ(error_of_text(R"("num_scheduled_tokens":{)", R"("num_scheduled_tokens":{"a":3,)"),
            "t.jsonl:3: /scheduler_output/num_scheduled_tokens/a: request \"a\" is listed twice");
  EXPECT_EQ(error_of_text(R"("num_cached_block":{)", R"("num_cached_block":{"a":[0,0],)"),
            "t.jsonl:3: /num_cached_block/a: request \"a\" is listed twice");
}

TEST(TraceRules, MetadataNamesAGroupOnce) {
  EXPECT_EQ(error_of_text(R"("attn_metadata":{)", R"("attn_metadata":{"1":{},)"),
            "t.jsonl:3: /attn_metadata/1: this group is listed twice");
}

TEST(TraceRules, ALineThatIsCutOffIsRefused) {
  for (const Json& line : test::healthy_trace()) {
    const std::string text = line.dump();
    for (std::size_t length = 1; length < text.size(); ++length) {
      TraceReader reader("t.jsonl");
      EXPECT_FALSE(reader.read_line(text.substr(0, length), 1).ok()) << length;
    }
  }
}

}  // namespace

}  // namespace hybridscope::trace_header_test
