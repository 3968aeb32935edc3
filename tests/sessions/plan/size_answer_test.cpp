#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/model_presets.h"
#include "sessions/plan/size_answer.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope::size_answer_test {
namespace {

SizeAnswer answer_of(const std::string& model, const EngineSettings& settings,
                     const RequestShape& shape) {
  return answer_sizes(model_preset(model).value(), settings, shape).value();
}

std::int64_t blocks_for(const SizeAnswer& answer, const std::string& kind) {
  for (const PoolUse& use : answer.pool)
    if (use.kind == kind) return use.blocks;
  return 0;
}

// tiny-mamba2 has an attention and a recurrent group. In blocks of 8 tokens a request of 20 + 4
// tokens holds 3 of attention and, in mode align, 2 states.
TEST(SizeAnswer, CountsThePoolByKind) {
  EngineSettings settings;
  settings.block_size = 8;
  settings.num_gpu_blocks_override = 33;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.async_scheduling = false;
  const SizeAnswer answer = answer_of("tiny-mamba2", settings, {.prompt = 20, .output = 4});
  EXPECT_EQ(answer.at_once.front().held.most.own, 5);
  EXPECT_EQ(answer.at_once.front().by_blocks, 6);
  EXPECT_EQ(blocks_for(answer, "attention"), 18);
  EXPECT_EQ(blocks_for(answer, "running states"), 6);
  EXPECT_EQ(blocks_for(answer, "snapshots"), 6);
  EXPECT_EQ(blocks_for(answer, "null block"), 1);
  EXPECT_EQ(blocks_for(answer, "free"), 2);
  std::int64_t all = 0;
  for (const PoolUse& use : answer.pool) all += use.blocks;
  EXPECT_EQ(all, 33);
}

TEST(SizeAnswer, DraftsHaveStatesOfTheirOwn) {
  EngineSettings settings;
  settings.block_size = 8;
  settings.num_gpu_blocks_override = 33;
  settings.mamba_cache_mode = MambaCacheMode::none;
  settings.num_speculative_tokens = 3;
  const SizeAnswer answer = answer_of("tiny-mamba2", settings, {.prompt = 20, .output = 4});
  EXPECT_EQ(blocks_for(answer, "states for drafts"), 3 * answer.at_once.front().by_blocks);
}

TEST(SizeAnswer, TheLongestRequestIsTheLongestThatTheEngineTakes) {
  EngineSettings settings;
  settings.block_size = 8;
  settings.num_gpu_blocks_override = 20;
  const SizeAnswer answer = answer_of("tiny-gdn", settings, {.prompt = 9, .output = 2});
  const auto fits = [&](std::int64_t length) {
    AddRequest request;
    request.name = "r";
    request.prompt = {{.content = 1, .length = static_cast<std::int32_t>(length) - 1}};
    return check_request_fits(answer.setup.config, request).ok();
  };
  EXPECT_GT(answer.longest_request, 8);
  EXPECT_TRUE(fits(answer.longest_request));
  EXPECT_FALSE(fits(answer.longest_request + 1));
}

TEST(SizeAnswer, MaxNumSeqsBindsWhereItIsTheSmallest) {
  EngineSettings settings;
  settings.num_gpu_blocks_override = 1000;
  settings.max_num_seqs = 10;
  const ModelSpec model = model_preset("qwen3-next-80b-a3b").value();
  const RequestShape shape{.prompt = 100, .output = 10};
  const SizeAnswer answer = answer_sizes(model, settings, shape).value();
  EXPECT_EQ(requests_that_run(answer), 10);
  EXPECT_FALSE(answer.limits[0].binds);
  EXPECT_TRUE(answer.limits[1].binds);
  const auto changes = useful_changes(model, settings, answer);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front().setting, "max_num_seqs");
  EXPECT_EQ(changes.front().requests, answer.limits[0].requests);
}

TEST(SizeAnswer, OneMoreRequestFitsInTheMemoryThatItNames) {
  EngineSettings settings;
  settings.kv_cache_memory_bytes = std::int64_t{5} << 30;
  const ModelSpec model = model_preset("qwen3-next-80b-a3b").value();
  const RequestShape shape{.prompt = 3000, .output = 100};
  const SizeAnswer answer = answer_sizes(model, settings, shape).value();
  const std::int64_t before = answer.at_once.front().by_blocks;
  const auto with = [&](std::int64_t more) {
    EngineSettings larger = settings;
    *larger.kv_cache_memory_bytes += more;
    return answer_sizes(model, larger, shape).value().at_once.front().by_blocks;
  };
  EXPECT_EQ(with(answer.next_request_bytes), before + 1);
  EXPECT_EQ(with(answer.next_request_bytes - 1), before);
}

TEST(SizeAnswer, RefusesRequestsThatCannotBe) {
  const ModelSpec model = model_preset("qwen3-next-80b-a3b").value();
  EXPECT_FALSE(answer_sizes(model, {}, RequestShape{.prompt = 300000, .output = 1}).ok());
  EXPECT_FALSE(answer_sizes(model, {}, RequestShape{.prompt = 10, .output = 0}).ok());
}

using testing::HasSubstr;

ModelLayout layout_of(const std::string& model, const EngineSettings& settings) {
  return make_engine_setup(model, settings).value().layout;
}

TEST(WhyBlockSize, NamesTheNextSmallerSizeAndWhatItLacks) {
  EXPECT_EQ(why_block_size(layout_of("qwen3-next-80b-a3b", {})),
            "block 544 and not 528 tokens, because the state of a layer needs 1,097,728 bytes: 528 "
            "tokens of attention have 1,081,344 bytes (2,048 a token), 544 have 1,114,112; block "
            "sizes are multiples of 16, the attention kernel's smallest block");
}

TEST(WhyBlockSize, CountsHeadsAndStatesOfOneRankAndTheDtypes) {
  EngineSettings settings;
  settings.tensor_parallel_size = 2;
  settings.kv_cache_dtype = KVCacheDtype::fp8;
  settings.mamba_ssm_cache_dtype = CacheDtypeName::float32;
  EXPECT_EQ(why_block_size(layout_of("qwen3-next-80b-a3b", settings)),
            "block 2,096 and not 2,080 tokens, because the state of a layer needs 1,073,152 bytes: "
            "2,080 tokens of attention have 1,064,960 bytes (512 a token), 2,096 have 1,073,152; "
            "block sizes are multiples of 16, the attention kernel's smallest block");
}

TEST(WhyBlockSize, InModeAllBlocksAreMultiplesOfTheChunk) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::all;
  EXPECT_EQ(why_block_size(layout_of("bamba-9b", settings)),
            "block 768 and not 512 tokens, because the state of a layer needs 2,147,840 bytes: 512 "
            "tokens of attention have 2,097,152 bytes (4,096 a token), 768 have 3,145,728; block "
            "sizes are multiples of 256, the least common multiple of the chunk size 256 and 16 "
            "tokens of alignment");
}

TEST(WhyBlockSize, SaysWhenTheSmallestIsEnoughAndWhenThereIsNoAttention) {
  EngineSettings settings;
  settings.block_size = 2048;
  EXPECT_THAT(why_block_size(layout_of("qwen3-next-80b-a3b", settings)),
              HasSubstr("block 2,048 tokens, as asked for: 4,194,304 bytes of attention "
                        "(2,048 * 2,048) are enough for the state of a layer, 1,097,728; block "
                        "sizes are multiples of 2,048, block_size"));
  EngineSettings align;
  align.mamba_cache_mode = MambaCacheMode::align;
  EXPECT_THAT(why_block_size(layout_of("mamba2-2.7b", align)),
              HasSubstr("block 256 tokens, the chunk size: there is no attention layer"));
}

// In every mode, dtype and tensor parallel size: one unit less does not hold a state, the block
// does.
TEST(WhyBlockSize, TheNextSmallerBlockNeverHoldsAState) {
  for (const std::string& name : model_preset_names())
    for (const std::int32_t tp : {1, 2, 4})
      for (const MambaCacheMode mode :
           {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all})
        for (const KVCacheDtype dtype : {KVCacheDtype::automatic, KVCacheDtype::fp8}) {
          EngineSettings settings;
          settings.tensor_parallel_size = tp;
          settings.mamba_cache_mode = mode;
          settings.kv_cache_dtype = dtype;
          settings.max_num_batched_tokens = 1 << 20;
          const auto setup = make_engine_setup(name, settings);
          if (!setup.ok()) continue;  // heads that the ranks cannot share
          const BlockSizeChoice& choice = setup.value().layout.page_size.choice;
          if (choice.attn_bytes_per_token == 0) continue;
          EXPECT_GE(choice.block_size * choice.attn_bytes_per_token, choice.mamba_page) << name;
          EXPECT_LT((choice.block_size - choice.granularity) * choice.attn_bytes_per_token,
                    choice.mamba_page)
              << name;
        }
}

TEST(ExplainSizes, TellsWhatOneMoreRequestAndOtherSettingsWouldGive) {
  EngineSettings settings;
  settings.kv_cache_memory_bytes = std::int64_t{40} << 30;
  const ModelSpec model = model_preset("qwen3-next-80b-a3b").value();
  const RequestShape shape{.prompt = 8000, .output = 500, .shared = 6000};
  const SizeAnswer answer = answer_sizes(model, settings, shape).value();
  const auto changes = useful_changes(model, settings, answer);
  const std::string text = explain_sizes(answer, changes);
  EXPECT_THAT(text, HasSubstr("nothing shared: 145 at once, 22 blocks each."));
  EXPECT_THAT(text, HasSubstr("hit 5,984, 290 at once, 11 blocks each and 11 together."));
  EXPECT_THAT(text, HasSubstr("blocks                    145, binds"));
  EXPECT_THAT(text, HasSubstr("kv_cache_dtype fp8: 232 requests (232 by blocks), block 1,072"));
  const auto json = sizes_to_json(answer, changes);
  EXPECT_EQ(json["block"]["size"], 544);
  EXPECT_EQ(json["requests"][0]["at_once"], 145);
  EXPECT_EQ(json["requests"][2]["num_hit_tokens"], 5984);
  EXPECT_EQ(json["hits"]["smallest_prefix"], 544);
}

}  // namespace

}  // namespace hybridscope::size_answer_test
