#include "sessions/plan/size_answer.h"

#include <gmock/gmock.h>

#include <string>

#include "core/engine/engine.h"
#include "core/model/model_presets.h"

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

}  // namespace
}  // namespace hybridscope::size_answer_test
