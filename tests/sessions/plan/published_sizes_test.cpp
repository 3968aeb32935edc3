// Sizes that people read in the start-up logs of their engines and published.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <string>

#include <nlohmann/json.hpp>
#include "core/engine/engine.h"
#include "core/model/model_presets.h"
#include "core/model/model_spec.h"
#include "core/model/page_size.h"
#include "sessions/plan/request_blocks.h"
#include "sessions/plan/size_answer.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/scenario/start_plan.h"
#include "tests/support/property.h"

namespace hybridscope::published_sizes_test {
namespace {

// Gated delta net with float32 states (mamba_ssm_dtype), head size 256, 16 key heads of 128, every
// fourth layer attention: Qwen3.5 and Qwen3.6.
struct Qwen35 {
  std::int64_t layers = 32;
  std::int64_t value_heads = 32;
  std::int64_t kv_heads = 4;
};
constexpr Qwen35 kQwen35_4B{.layers = 32, .value_heads = 32, .kv_heads = 4};
constexpr Qwen35 kQwen36_27B{.layers = 64, .value_heads = 48, .kv_heads = 4};
constexpr Qwen35 kQwen36_35B{.layers = 40, .value_heads = 32, .kv_heads = 2};

ModelSpec qwen35(const Qwen35& size) {
  const nlohmann::json text = {
      {"num_hidden_layers", size.layers},     {"full_attention_interval", 4},
      {"num_key_value_heads", size.kv_heads}, {"head_dim", 256},
      {"linear_num_key_heads", 16},           {"linear_num_value_heads", size.value_heads},
      {"linear_key_head_dim", 128},           {"linear_value_head_dim", 128},
      {"linear_conv_kernel_dim", 4},          {"mamba_ssm_dtype", "float32"},
      {"max_position_embeddings", 262144}};
  const nlohmann::json config = {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                                 {"text_config", text}};
  return parse_hf_config({.text = config.dump(), .file = "config.json"}).value();
}

// GLM-5.3-Flash, as transformers has it (Glm5NextTextConfig): 45 layers, every fourth of them MLA
// with latent vectors of 512 without rope, the others KDA with 64 heads of 128 and W = 4. Without
// its key indexer, whose pages are memory of their own.
struct Glm53Flash {
  // Of a token's latent vector. Where an engine packs them, or keeps scales with them: the bytes of
  // a token, with kv_cache_dtype fp8.
  std::int64_t latent_values = 512;
};
ModelSpec glm53_flash(const Glm53Flash& cache = {}) {
  ModelSpec model = model_preset("kimi-linear-48b-a3b").value();
  model.name = "glm-5.3-flash";
  model.layers.clear();
  for (int layer = 0; layer < 45; ++layer)
    model.layers.push_back(layer % 4 == 3 ? LayerKind::attention : LayerKind::recurrent);
  model.attention = {.attention_type = AttentionType::mla, .kv_lora_rank = cache.latent_values};
  model.recurrent = KdaDims{.num_heads = 64, .head_dim = 128};
  model.kernel_block_alignment = 128;  // of MLA from 0.27.1 on
  return model;
}

struct Flag {
  const char* section = "";
  const char* name;
  const char* value;
};

EngineSettings settings_with(std::initializer_list<Flag> flags) {
  EngineSettings settings;
  for (const Flag& flag : flags)
    EXPECT_TRUE(set_setting_text(settings, *find_setting(flag.section, flag.name), flag.value).ok())
        << flag.name;
  return settings;
}

BlockSizeChoice block_of(const ModelSpec& model, std::initializer_list<Flag> flags) {
  const auto setup = make_engine_setup(model, settings_with(flags));
  return setup.value().layout.page_size.choice;
}

// github.com/vllm-project/vllm/issues/40696: vLLM 0.19.1, vllm serve Qwen/Qwen3.5-4B
// --enable-prefix-caching --max-model-len 1024 --dtype bfloat16.
TEST(PublishedSizes, Qwen35With4BillionHasBlocksOf528Tokens) {
  const BlockSizeChoice choice =
      block_of(qwen35(kQwen35_4B), {{.name = "max_model_len", .value = "1024"}});
  EXPECT_EQ(choice.block_size, 528);
  EXPECT_EQ(choice.mamba_page, 2'146'304);
}

// docs.lmcache.ai/recipes/qwen3_5.html: vllm serve Qwen/Qwen3.6-27B --enable-prefix-caching
// --mamba-cache-mode align, one GPU.
TEST(PublishedSizes, Qwen36With27BillionHasBlocksOf784Tokens) {
  EXPECT_EQ(
      block_of(qwen35(kQwen36_27B), {{.name = "mamba_cache_mode", .value = "align"}}).block_size,
      784);
}

// The same layers (Qwen3.8-27B) with fp8 keys and values, tensor parallel size 2 and three drafts
// of method mtp: a state of 1,634,304 bytes, "Padding mamba page size by 0.25%", as in many
// published logs of vLLM 0.27 and 0.28.
TEST(PublishedSizes, WithFp8AndThreeDraftsIts27BillionHaveBlocksOf1600Tokens) {
  const BlockSizeChoice choice =
      block_of(qwen35(kQwen36_27B),
               {{.name = "kv_cache_dtype", .value = "fp8"},
                {.name = "tensor_parallel_size", .value = "2"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "3"}});
  EXPECT_EQ(choice.mamba_page, 1'634'304);
  EXPECT_EQ(choice.block_size, 1600);
  EXPECT_NEAR(padding_waste_percent(choice), 0.25, 0.005);
}

// A published capacity sheet of nvidia/Qwen3.6-35B-A3B-NVFP4 (vLLM 0.28.1rc1): --kv-cache-dtype fp8
// --tensor-parallel-size 2 --no-enable-prefix-caching --kv-cache-memory-bytes 8589934592
// --max-model-len 1000000: blocks of 2,096 tokens, 800 of them, 1,663,201 tokens, 1.66 at once.
TEST(PublishedSizes, Qwen36With35BillionHas800BlocksOf2096Tokens) {
  const EngineSettings settings =
      settings_with({{.name = "kv_cache_dtype", .value = "fp8"},
                     {.name = "tensor_parallel_size", .value = "2"},
                     {.name = "enable_prefix_caching", .value = "false"},
                     {.name = "kv_cache_memory_bytes", .value = "8589934592"},
                     {.name = "max_model_len", .value = "1000000"}});
  const RequestShape shape{.prompt = 32000, .output = 768};
  const SizeAnswer answer = answer_sizes(qwen35(kQwen36_35B), settings, shape).value();
  EXPECT_EQ(answer.setup.layout.page_size.choice.block_size, 2096);
  EXPECT_EQ(answer.setup.layout.page_size.choice.padding, 0);
  EXPECT_EQ(answer.setup.config.kv_cache_config.num_blocks, 800);
  EXPECT_EQ(blocks_reserved(answer.setup.layout, answer.setup.layout.max_model_len), 481);
  EXPECT_EQ(answer.at_once.front().held.most.own, 19);
  EXPECT_EQ(answer.at_once.front().by_blocks, 42);
  EngineSettings released = settings;
  released.engine = EngineProfile::vllm(Release::v0_28_0);
  EXPECT_EQ(plan_start(qwen35(kQwen36_35B), released).value().plan.lines.back(),
            "GPU KV cache size: 1,663,201 tokens, Maximum concurrency for 1,000,000 tokens per "
            "request: 1.66x");
}

// github.com/vllm-project/vllm/pull/53906 (comment of 2026-08-29): GLM-5.3-Flash on two H200,
// tensor parallel size 2, three drafts of method mtp: hashes of 2,304 tokens.
TEST(PublishedSizes, Glm53FlashWithThreeDraftsHasBlocksOf2304Tokens) {
  const BlockSizeChoice choice =
      block_of(glm53_flash(),
               {{.name = "engine", .value = "vllm-0.30.0"},
                {.name = "tensor_parallel_size", .value = "2"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "3"}});
  EXPECT_EQ(choice.mamba_page, 2'244'608);
  EXPECT_EQ(choice.block_size, 2304);
}

// github.com/LMCache/LMCache/pull/5042 (comment of 2026-09-10): GLM-5.3-Flash on four GPUs, 1,152
// tokens a block and 11 layers in a group; up to 7 drafts would give the same.
TEST(PublishedSizes, Glm53FlashOnFourGpusHasBlocksOf1152Tokens) {
  const auto setup = make_engine_setup(
      glm53_flash(), settings_with({{.name = "tensor_parallel_size", .value = "4"}}));
  EXPECT_EQ(setup.value().layout.page_size.choice.block_size, 1152);
  EXPECT_EQ(setup.value().layout.page_size.layer_groups.group_size, 11);
}

// github.com/local-inference-lab/vllm/pull/488 (comment of 2026-08-28): GLM-5.3-Flash on four RTX
// PRO 6000, fp8 records of 528 bytes (local-inference-lab/b12x, pull 266), seven drafts of DFlash2:
// of a prompt of 10,355 tokens a second request finds 6,912, three blocks.
TEST(PublishedSizes, Glm53FlashWithFp8RecordsAndSevenDraftsHasBlocksOf2304TokensOnFourGpus) {
  const BlockSizeChoice choice =
      block_of(glm53_flash({.latent_values = 528}),
               {{.name = "kv_cache_dtype", .value = "fp8"},
                {.name = "tensor_parallel_size", .value = "4"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "7"}});
  EXPECT_EQ(choice.mamba_page, 1'171'456);
  EXPECT_EQ(choice.block_size, 6912 / 3);
}

// github.com/vllm-project/vllm/issues/54458 (2026-08-30): GLM-5.3-Flash on two RTX PRO 6000 with a
// DFlash drafter, tensor parallel size 2: "Setting attention block size to 7808 tokens". It does
// not say how the cache is kept or how many drafts there are. The 4-bit records that the engine of
// these cards has for this model (nvfp4_ds_mla, local-inference-lab/vllm, pull 549) have 304 bytes,
// and with the seven drafts of DFlash2 they give its 7,808 tokens; vLLM itself has no such dtype
// for the model, so that a record of as many bytes stands for it.
TEST(PublishedSizes, Glm53FlashWith4BitRecordsAndSevenDraftsHasBlocksOf7808Tokens) {
  const BlockSizeChoice choice =
      block_of(glm53_flash({.latent_values = 304}),
               {{.name = "kv_cache_dtype", .value = "fp8"},
                {.name = "tensor_parallel_size", .value = "2"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "7"}});
  EXPECT_EQ(choice.mamba_page, 2'342'912);
  EXPECT_EQ(choice.block_size, 7808);
}

// github.com/kaito-project/kaito/issues/2319: Qwen3.6-27B on an H100, vLLM 0.25.1, "max_num_seqs
// (1024) exceeds available Mamba cache blocks (614)". A block of 784 tokens has 51,380,224 bytes in
// 16 layers, so 29.4 GiB were left for blocks.
TEST(PublishedSizes, Qwen36With27BillionHas614StateBlocksFor1024Sequences) {
  const EngineSettings settings =
      settings_with({{.name = "engine", .value = "vllm-0.25.1"},
                     {.name = "kv_cache_memory_bytes", .value = "29.4GiB"},
                     {.name = "max_num_seqs", .value = "1024"}});
  const RequestShape shape{.prompt = 1000, .output = 100};
  const SizeAnswer answer = answer_sizes(qwen35(kQwen36_27B), settings, shape).value();
  EXPECT_EQ(answer.block_bytes, 51'380'224);
  EXPECT_EQ(answer.setup.config.kv_cache_config.num_blocks, 614);
  EXPECT_EQ(answer.refused_max_num_seqs, 1024);
}

// The number of requests that fit is held against the real engine with the settings as they are: so
// many run together without waiting or preemption, and one more does not.

using test::draw;
using test::one_in;

AddRequest request_number(const RequestShape& shape, std::uint64_t number) {
  AddRequest request;
  request.name = fmt::format("q{}", number);
  request.max_tokens = shape.output;
  request.key = number;
  if (shape.shared > 0)
    request.prompt.push_back({.content = 77, .first = 0, .length = shape.shared});
  if (shape.prompt > shape.shared)
    request.prompt.push_back(
        {.content = 1000 + number, .first = shape.shared, .length = shape.prompt - shape.shared});
  return request;
}

void run_to_the_end(Engine& engine) {
  while (engine.num_unfinished() > 0 || engine.has_frame_in_flight()) engine.step();
  engine.step();
}

// Do so many requests that start in one step ever wait or lose their blocks?
bool run_freely(Engine engine, const RequestShape& shape, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto added =
        engine.add_request(request_number(shape, 50 + static_cast<std::uint64_t>(i)));
    if (!added.ok()) return false;
  }
  while (engine.num_unfinished() > 0) {
    const StepTrace& trace = engine.step();
    if (trace.num_waiting > 0 || !trace.preempted.empty()) return false;
  }
  return true;
}

struct Drawn {
  EngineConfig config;
  RequestShape shape;
  std::string words;
};

EngineSettings drawn_settings() {
  EngineSettings settings;
  const char* engines[] = {"safe",        "reference",   "vllm-0.24.0",
                           "vllm-0.28.0", "vllm-0.30.0", "vllm-0.33.0"};
  settings.engine = parse_engine_profile(engines[draw(0, 5)]);
  const auto mode = static_cast<MambaCacheMode>(draw(0, 2));
  if (!one_in(3)) settings.mamba_cache_mode = mode;
  settings.enable_prefix_caching = mode != MambaCacheMode::none || one_in(2);
  const std::int32_t block = 8 << draw(0, 2);
  settings.block_size = block;
  if (one_in(3)) {
    settings.num_speculative_tokens = draw(1, 3);
    settings.speculative_method = SpeculativeMethod::mtp;
  }
  settings.async_scheduling = one_in(2);
  if (one_in(3)) settings.prefix_cache_retention_interval = block * draw(0, 2);
  if (one_in(4)) settings.prefix_match_unit = 4;
  if (one_in(4)) settings.scheduler_reserve_full_isl = false;
  settings.num_gpu_blocks_override = draw(40, 400);
  settings.max_model_len = 512;
  settings.max_num_seqs = 400;
  settings.max_num_batched_tokens = 65536;
  settings.cudagraph_mode = CUDAGraphMode::none;
  settings.acceptance_rate = 0.0;
  return settings;
}

Drawn draw_case(bool shares) {
  const char* models[] = {"tiny-mamba2", "tiny-mamba2-groups", "tiny-gdn"};
  const std::string model = models[draw(0, 2)];
  EngineSettings settings = drawn_settings();
  if (!shares && one_in(3)) settings.watermark = draw(1, 30) / 100.0;
  const auto setup = make_engine_setup(model, settings);
  RC_PRE(setup.ok());
  Drawn drawn{.config = setup.value().config, .shape = {}, .words = {}};
  drawn.shape = {.prompt = draw(1, 120), .output = draw(1, 60), .shared = 0};
  if (shares) drawn.shape.shared = draw(1, drawn.shape.prompt);
  drawn.words = fmt::format("{} {} K {} block {} pool {} prompt {} output {} shared {} async {}",
                            model, engine_profile_name(*settings.engine),
                            drawn.config.num_speculative_tokens, drawn.config.block_size,
                            drawn.config.kv_cache_config.num_blocks, drawn.shape.prompt,
                            drawn.shape.output, drawn.shape.shared, drawn.config.async_scheduling);
  return drawn;
}

Engine warmed(const EngineConfig& config, const RequestShape& shape, WarmCache warm) {
  Engine engine = Engine::create(config).value();
  RequestShape before = shape;
  if (warm == WarmCache::shared_prompt) before = {shape.shared, 1, shape.shared};
  const int times = warm == WarmCache::nothing ? 0 : warm == WarmCache::whole_request ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const auto added = engine.add_request(request_number(before, static_cast<std::uint64_t>(i)));
    RC_PRE(added.ok());
    run_to_the_end(engine);
  }
  return engine;
}

void check_count(const Drawn& drawn, WarmCache warm) {
  const auto held = measure_request_blocks(drawn.config, drawn.shape, warm);
  RC_PRE(held.ok());  // a retention interval that mode none does not take
  const std::int64_t count = try_requests_at_once(drawn.config, drawn.shape, held.value());
  RC_PRE(count < 390);
  const Engine engine = warmed(drawn.config, drawn.shape, warm);
  RC_LOG() << drawn.words << ": " << count << ", " << held.value().most.own << " each, "
           << held.value().most.shared << " together, " << held.value().needed_to_be_admitted
           << " to be admitted, hit " << held.value().num_hit_tokens << "\n";
  if (count > 0) RC_ASSERT(run_freely(engine, drawn.shape, count));
  RC_ASSERT(!run_freely(engine, drawn.shape, count + 1));
}

TEST(RequestBlocks, SoManyRunWithoutWaitingAndOneMoreDoesNot) {
  test::check_property(90, [] { check_count(draw_case(false), WarmCache::nothing); });
}

TEST(RequestBlocks, SoManyThatShareAPrefixRunWithoutWaitingAndOneMoreDoesNot) {
  test::check_property(60, [] {
    check_count(draw_case(true), one_in(2) ? WarmCache::whole_request : WarmCache::shared_prompt);
  });
}

}  // namespace

}  // namespace hybridscope::published_sizes_test
