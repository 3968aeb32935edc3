#include "sessions/scenario/engine_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope::engine_setup_test {
namespace {

using ::testing::HasSubstr;

EngineConfig config_of(const std::string& model, const EngineSettings& settings) {
  Result<EngineSetup> setup = make_engine_setup(model, settings);
  EXPECT_TRUE(setup.ok()) << setup.error().message;
  return std::move(setup).value().config;
}

std::string error_of(const std::string& model, const EngineSettings& settings) {
  const Result<EngineSetup> setup = make_engine_setup(model, settings);
  return setup.ok() ? "" : setup.error().message;
}

TEST(EngineSetup, LeavesDefaultsAlone) {
  const EngineConfig config = config_of("tiny-gdn", {});
  EXPECT_EQ(config.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(config.max_num_seqs, 256);
  EXPECT_EQ(config.max_num_batched_tokens, 8192);
  EXPECT_EQ(config.num_speculative_tokens, 0);
  EXPECT_EQ(config.speculative_method, SpeculativeMethod::none);
  EXPECT_TRUE(config.enable_prefix_caching);
  EXPECT_EQ(config.acceptance_rate, 0.7);
  EXPECT_EQ(config.policies, safe_policies());
  EXPECT_EQ(config.cudagraph_mode, CUDAGraphMode::full_and_piecewise);
  EXPECT_TRUE(config.async_scheduling);
  EXPECT_EQ(config.runner, ModelRunner::v1);
  EXPECT_EQ(config.attention_backend, AttentionBackend::flash_attn_3);
}

TEST(EngineSetup, NoMoreRequestsThanBlocksRunUnlessAskedFor) {
  EngineSettings settings;
  settings.block_size = 8;
  settings.num_gpu_blocks_override = 16;
  EXPECT_EQ(config_of("tiny-gdn", settings).max_num_seqs, 16);
  settings.max_num_seqs = 17;
  EXPECT_EQ(error_of("tiny-gdn", settings),
            "max_num_seqs is 17, above the 16 blocks that hold the states of full CUDA graphs "
            "(expected at most 16, or graphs without FULL)");
  settings.cudagraph_mode = CUDAGraphMode::piecewise;
  EXPECT_EQ(config_of("tiny-gdn", settings).max_num_seqs, 17);
}

TEST(EngineSetup, TheOptimizationLevelGivesTheGraphModeUnlessItIsSet) {
  EngineSettings settings;
  settings.optimization_level = OptimizationLevel::O0;
  EXPECT_EQ(config_of("tiny-gdn", settings).cudagraph_mode, CUDAGraphMode::none);
  EXPECT_FALSE(config_of("tiny-gdn", settings).compiled_piecewise);
  settings.optimization_level = OptimizationLevel::O1;
  EXPECT_EQ(config_of("tiny-gdn", settings).cudagraph_mode, CUDAGraphMode::piecewise);
  settings.cudagraph_mode = CUDAGraphMode::full_decode_only;
  EXPECT_EQ(config_of("tiny-gdn", settings).cudagraph_mode, CUDAGraphMode::full_decode_only);
}

TEST(EngineSetup, CaptureSizesComeInAnyOrder) {
  EngineSettings settings;
  settings.cudagraph_capture_sizes = {8, 2, 8, 4};
  EXPECT_THAT(config_of("tiny-gdn", settings).cudagraph_capture_sizes,
              testing::ElementsAre(2, 4, 8));
}

TEST(EngineSetup, GraphsThatTheModelCannotHaveAreCorrected) {
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  settings.max_num_seqs = 4;
  const EngineSetup linear = make_engine_setup("minimax-text-01", settings).value();
  EXPECT_EQ(linear.cudagraphs.cudagraph_mode, CUDAGraphMode::piecewise);
  EXPECT_THAT(linear.cudagraphs.capture_sizes, testing::ElementsAre(1, 2, 4, 8, 16, 24));
  const EngineSetup gdn = make_engine_setup("qwen3-next-80b-a3b", settings).value();
  EXPECT_EQ(gdn.cudagraphs.cudagraph_mode, CUDAGraphMode::full_and_piecewise);
  EXPECT_THAT(gdn.cudagraphs.capture_sizes, testing::ElementsAre(3, 6, 9, 18, 24));
}

TEST(EngineSetup, DefaultMemoryIs60GiBButNoMoreThanAMillionBlocks) {
  EngineSettings settings;  // pages of 65,536 bytes, 2 layers per group
  EXPECT_EQ(config_of("tiny-gdn", settings).kv_cache_config.num_blocks, 491520);
  settings.block_size = 8;
  EXPECT_EQ(config_of("tiny-gdn", settings).kv_cache_config.num_blocks, kMaxDefaultBlocks);
  settings.kv_cache_memory_bytes = std::int64_t{60} << 30;
  EXPECT_EQ(config_of("tiny-gdn", settings).kv_cache_config.num_blocks, 7864320);
}

// The block sizes are those of vLLM 0.33.0's Platform._align_hybrid_block_size for the same state.
TEST(EngineSetup, WithKeysOfOneByteAStateTakesABlockOfTwiceTheTokens) {
  EngineSettings settings;
  settings.kv_cache_memory_bytes = std::int64_t{60} << 30;
  const auto setup = [&] { return make_engine_setup("qwen3-next-80b-a3b", settings).value(); };
  EXPECT_EQ(setup().config.block_size, 544);  // 16 * ceil(1,097,728 / (16 * 2,048))
  EXPECT_EQ(setup().layout.page_size.choice.page_size, 1114112);
  EXPECT_EQ(setup().config.kv_cache_config.num_blocks, 4818);
  for (const KVCacheDtype dtype :
       {KVCacheDtype::fp8, KVCacheDtype::fp8_e4m3, KVCacheDtype::fp8_e5m2}) {
    settings.kv_cache_dtype = dtype;
    EXPECT_EQ(setup().config.block_size, 1072);  // 16 * ceil(1,097,728 / (16 * 1,024))
    EXPECT_EQ(setup().layout.page_size.choice.page_size, 1097728);
    EXPECT_EQ(setup().layout.page_size.choice.padding, 0);
    EXPECT_EQ(setup().config.kv_cache_config.num_blocks, 4890);
  }
  settings.kv_cache_dtype = KVCacheDtype::bfloat16;
  EXPECT_EQ(setup().config.block_size, 544);
}

TEST(EngineSetup, BlocksFillWhatAGpuHasLeft) {
  EngineSettings settings;
  settings.gpu_memory_bytes = std::int64_t{80} << 30;
  settings.gpu_memory_utilization = 0.9;
  settings.weights_memory_bytes = std::int64_t{40} << 30;
  settings.activation_memory_bytes = std::int64_t{2} << 30;
  const EngineSetup setup = make_engine_setup("qwen3-next-80b-a3b", settings).value();
  // floor(30 GiB / (1,114,112 * 12))
  EXPECT_EQ(setup.config.kv_cache_config.num_blocks, 2409);
  ASSERT_TRUE(setup.gpu_memory);
  EXPECT_EQ(setup.gpu_memory->left(), std::int64_t{30} << 30);
  EXPECT_THAT(explain_start_up(setup),
              testing::HasSubstr("80 GiB * 0.9 = 72 GiB, less 40 GiB of weights and 2 GiB of"));
}

TEST(EngineSetup, PassesEverySettingOn) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.block_size = 8;
  settings.num_gpu_blocks_override = 40;
  settings.max_model_len = 64;
  settings.max_num_seqs = 4;
  settings.max_num_batched_tokens = 32;
  settings.long_prefill_token_threshold = 16;
  settings.enable_chunked_prefill = false;
  settings.scheduling_policy = SchedulingPolicy::priority;
  settings.watermark = 0.25;
  settings.scheduler_reserve_full_isl = false;
  settings.speculative_method = SpeculativeMethod::ngram;
  settings.num_speculative_tokens = 3;
  settings.acceptance_rate = 0.5;
  settings.seed = 9;
  settings.cudagraph_mode = CUDAGraphMode::piecewise;
  settings.cudagraph_capture_sizes = {4, 8};
  settings.attention_backend = AttentionBackend::flash_attn_2;
  settings.step_cost_base_us = 1;
  settings.step_cost_per_token_us = 2;
  settings.engine = EngineProfile::reference;
  settings.policies.set(RowClassing::by_meaning);
  const EngineConfig config = config_of("tiny-mamba2", settings);
  EXPECT_EQ(config.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(config.block_size, 8);
  EXPECT_EQ(config.scheduler_block_size, 8);
  EXPECT_EQ(config.hash_block_size, 8);
  EXPECT_EQ(config.kv_cache_config.num_blocks, 40);
  EXPECT_EQ(config.kv_cache_config.groups.size(), 2U);
  EXPECT_EQ(config.conv_kernel, 4);
  EXPECT_EQ(config.chunk_size, 4);
  EXPECT_EQ(config.max_model_len, 64);
  EXPECT_EQ(config.max_num_seqs, 4);
  EXPECT_EQ(config.max_num_batched_tokens, 32);
  EXPECT_EQ(config.long_prefill_token_threshold, 16);
  EXPECT_FALSE(config.enable_chunked_prefill);
  EXPECT_EQ(config.scheduling_policy, SchedulingPolicy::priority);
  EXPECT_EQ(config.watermark, 0.25);
  EXPECT_FALSE(config.scheduler_reserve_full_isl);
  EXPECT_EQ(config.speculative_method, SpeculativeMethod::ngram);
  EXPECT_EQ(config.num_speculative_tokens, 3);
  EXPECT_EQ(config.acceptance_rate, 0.5);
  EXPECT_EQ(config.seed, 9U);
  EXPECT_EQ(config.cudagraph_mode, CUDAGraphMode::piecewise);
  EXPECT_THAT(config.cudagraph_capture_sizes, testing::ElementsAre(4, 8));
  EXPECT_EQ(config.attention_backend, AttentionBackend::flash_attn_2);
  EXPECT_FALSE(config.async_scheduling);
  EXPECT_EQ(config.step_cost_base_us, 1);
  EXPECT_EQ(config.step_cost_per_token_us, 2);
  PolicySet expected = reference_policies();
  expected.set(RowClassing::by_meaning);
  EXPECT_EQ(config.policies, expected);
}

TEST(EngineSetup, Qwen3NextAt60GiBHasTheBlocksOfTheWorkedExample) {
  EngineSettings settings;
  settings.kv_cache_memory_bytes = std::int64_t{60} << 30;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.num_speculative_tokens = 2;
  const EngineConfig config = config_of("qwen3-next-80b-a3b", settings);
  EXPECT_EQ(config.block_size, 560);
  EXPECT_EQ(config.kv_cache_config.num_blocks, 4681);
  EXPECT_EQ(config.kv_cache_config.groups.size(), 4U);
  EXPECT_EQ(config.speculative_method, SpeculativeMethod::mtp);
}

// 3 convolutions of 4,096 channels in bfloat16 and 32 heads of 128 * 128 in float32; W = 4. Read in
// the wheels: kda_state_shape ignores num_spec until 0.26.0.
TEST(EngineSetup, KdaStatesHaveRoomForDraftsFrom0271On) {
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  settings.speculative_method = SpeculativeMethod::ngram;
  settings.mamba_cache_mode = MambaCacheMode::none;
  const auto page_in = [&](Release release) {
    settings.engine = EngineProfile::vllm(release);
    const auto setup = make_engine_setup("kimi-linear-48b-a3b", settings);
    return setup.value().layout.page_size.choice.mamba_page;
  };
  EXPECT_EQ(page_in(Release::v0_26_0), 2'170'880);
  EXPECT_EQ(page_in(Release::v0_27_1), 2'220'032);
  EXPECT_EQ(page_in(Release::v0_33_0), 2'220'032);
}

TEST(EngineSetup, ModeNoneTurnsPrefixCachingOff) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::none;
  EXPECT_FALSE(config_of("tiny-mamba2", settings).enable_prefix_caching);
}

TEST(EngineSetup, WithoutPrefixCachingTheModeIsNone) {
  EngineSettings settings;
  settings.enable_prefix_caching = false;
  EXPECT_EQ(config_of("tiny-mamba2", settings).mamba_cache_mode, MambaCacheMode::none);
}

TEST(EngineSetup, DtypesReachTheStates) {
  EngineSettings settings;
  settings.mamba_ssm_cache_dtype = CacheDtypeName::float32;
  const EngineConfig config = config_of("tiny-gdn", settings);
  const auto& mamba = std::get<MambaSpec>(config.kv_cache_config.groups.back().spec);
  EXPECT_EQ(mamba.states[0].dtype, Dtype::bfloat16);
  EXPECT_EQ(mamba.states[1].dtype, Dtype::float32);
}

TEST(EngineSetup, AnUnknownModelIsAnErrorThatListsTheKnownOnes) {
  EXPECT_NE(error_of("tiny-mamba3", {}).find("tiny-mamba2"), std::string::npos);
}

TEST(EngineSetup, AVerifyWindowMustFitTheModelsBlock) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.max_num_batched_tokens = 64;
  EXPECT_NE(error_of("tiny-mamba2", settings).find("128"), std::string::npos);
  settings.block_size = 4;
  settings.num_speculative_tokens = 4;
  EXPECT_EQ(error_of("tiny-mamba2", settings),
            "num_speculative_tokens is 4, but 1 + 4 tokens do not fit a block of 4 (expected at "
            "most 3)");
}

EngineSetup setup_of(const std::string& model, const EngineSettings& settings) {
  return make_engine_setup(model, settings).value();
}

std::string fit_error(std::int32_t num_blocks, std::int32_t max_tokens) {
  Scenario scenario;
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.block_size = 8;
  scenario.settings.num_gpu_blocks_override = num_blocks;
  scenario.settings.max_model_len = 64;
  scenario.requests = {{.id = "small", .prompt = {.tokens = 1}},
                       {.id = "B", .prompt = {.tokens = 20}, .max_tokens = max_tokens}};
  const EngineSetup setup = setup_of("tiny-mamba2", scenario.settings);
  const Status fits = check_requests_fit(scenario, resolve_requests(scenario).value(), setup);
  return fits.ok() ? "" : fits.error().message;
}

// 24 tokens: 3 attention blocks and 2 states, and the null block.
TEST(EngineSetup, ThePoolMustHoldEachRequestAlone) {
  EXPECT_EQ(fit_error(6, 4), "");
  EXPECT_EQ(fit_error(5, 4),
            "/requests/1: request \"B\": it can need 5 blocks at 24 tokens, the pool has 4");
}

// 1024 tokens in blocks of 16: 64 of attention, and 2 + 3 states with 3 drafts. Up to 0.28.0 the
// release counts the null block among those that a request can have; from 0.32.0 on it reserves a
// block for a state inside a prefill of Mamba2.
TEST(EngineSetup, AReleaseStartsWithThePoolThatItsOwnCountAllows) {
  const auto answer = [](const char* engine, std::int32_t num_blocks) {
    EngineSettings settings;
    settings.engine = parse_engine_profile(engine);
    settings.runner = ModelRunner::v1;
    settings.mamba_cache_mode = MambaCacheMode::align;
    settings.enable_prefix_caching = true;
    settings.block_size = 16;
    settings.num_gpu_blocks_override = num_blocks;
    settings.max_model_len = 1024;
    settings.max_num_batched_tokens = 256;
    settings.async_scheduling = false;
    settings.num_speculative_tokens = 3;
    AddRequest request{.name = "A", .prompt = {}, .max_tokens = 1};
    request.prompt = {{.content = 7, .first = 0, .length = 1023}};
    const Status fits = check_request_fits(setup_of("tiny-mamba2", settings), request);
    return fits.ok() ? std::string("it starts") : fits.error().message;
  };
  EXPECT_EQ(answer("vllm-0.28.0", 69), "it starts");
  EXPECT_EQ(answer("vllm-0.28.0", 68),
            "request \"A\": vllm-0.28.0 does not start: its pool must hold the 69 blocks of a "
            "request of 1024 tokens and has 68, with the null block");
  EXPECT_EQ(answer("vllm-0.29.0", 70), "it starts");
  EXPECT_EQ(answer("vllm-0.29.0", 69),
            "request \"A\": vllm-0.29.0 does not start: its pool must hold the 69 blocks of a "
            "request of 1024 tokens and has 68, without the null block");
  EXPECT_EQ(answer("vllm-0.33.0", 71), "it starts");
  EXPECT_EQ(answer("vllm-0.33.0", 70),
            "request \"A\": vllm-0.33.0 does not start: its pool must hold the 70 blocks of a "
            "request of 1024 tokens and has 69, without the null block");
  EXPECT_EQ(answer("safe", 69),
            "request \"A\": it can need 69 blocks at 1024 tokens, the pool has 68");
}

TEST(EngineSetup, ABlockSizeIsAMultipleOfTheAttentionKernelsBlock) {
  EngineSettings settings;
  settings.block_size = 499;
  const std::string refused =
      "block_size is 499, which is no multiple of 16, the attention kernels' smallest block: vLLM "
      "finds no valid attention backend (\"block_size not supported\") and does not start "
      "(expected a multiple of 16, such as 496 or 512)";
  EXPECT_EQ(error_of("qwen3-next-80b-a3b", settings), refused);
  for (const std::string_view release : release_names()) {
    settings.engine = EngineProfile::vllm(*parse_release(release));
    EXPECT_EQ(error_of("qwen3-next-80b-a3b", settings), refused) << release;
  }
  EXPECT_EQ(
      error_of(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_bamba/config.json", settings),
      refused);
  settings.engine = EngineProfile::safe;
  settings.block_size = 7;
  EXPECT_THAT(error_of("kimi-linear-48b-a3b", settings), HasSubstr("such as 16)"));
  settings.block_size = 496;
  EXPECT_EQ(config_of("qwen3-next-80b-a3b", settings).block_size, 992);
}

// The teaching models say of their kernels that they take any block; a model without attention has
// none that could refuse one.
TEST(EngineSetup, OtherModelsTakeAnyBlockSize) {
  EngineSettings settings;
  settings.block_size = 7;
  EXPECT_EQ(config_of("tiny-gdn", settings).block_size, 7);
  settings.engine = EngineProfile::vllm(Release::v0_33_0);
  EXPECT_EQ(config_of("tiny-gdn", settings).block_size, 7);
  settings.block_size = 499;
  settings.mamba_cache_mode = MambaCacheMode::align;
  EXPECT_EQ(config_of("mamba2-2.7b", settings).block_size, 499);
}

TEST(ScenarioChecks, ChangedSettingsAreCheckedAgain) {
  Scenario scenario;
  scenario.model = "tiny-mamba2";
  scenario.settings.num_speculative_tokens = 1;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}}};
  scenario.script = {{.step = 2, .accept = {{"A", 2}}}};
  EXPECT_TRUE(check_scenario(scenario).ok());
  scenario.settings.num_speculative_tokens = 0;
  EXPECT_EQ(check_scenario(scenario).error().message,
            "scenario: /script/0/accept/A: 2 accepted tokens, but the engine makes no drafts: "
            "num_speculative_tokens is 0 (expected 1, the bonus token)");
  scenario.settings.speculative_method = SpeculativeMethod::mtp;
  EXPECT_EQ(check_scenario(scenario).error().message,
            "scenario: /settings/speculative_config/method: method drafts tokens but "
            "num_speculative_tokens is 0 (expected at least 1)");
}

}  // namespace
}  // namespace hybridscope::engine_setup_test
