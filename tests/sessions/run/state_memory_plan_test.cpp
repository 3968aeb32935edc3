#include "sessions/run/state_memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/engine/dummy_run_policies.h"
#include "core/engine/kernel_policies.h"

namespace hybridscope::state_memory_plan_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMiB = 1 << 20;

// 36 recurrent layers in 3 groups of 12, 48 blocks of 1,146,880 bytes: 52.5 MiB a layer.
EngineSettings settings() {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.num_gpu_blocks_override = 48;
  settings.max_model_len = 4096;
  settings.num_speculative_tokens = 2;
  return settings;
}

Result<StateMemory> plan(const EngineSettings& settings, std::int64_t limit) {
  const EngineSetup setup = make_engine_setup("qwen3-next-80b-a3b", settings).value();
  return plan_state_memory(setup, settings, {.bytes = limit, .reason = "of this test"});
}

std::string refusal(std::int64_t limit) {
  const auto memory = plan(settings(), limit);
  if (memory.ok()) return "it fits";
  EXPECT_EQ(memory.error().kind, ErrorKind::not_available);
  return memory.error().message;
}

TEST(StateMemoryPlan, TakesEveryLayerUnlessToldOtherwise) {
  const StateMemory memory = plan(settings(), 1024 * kMiB).value();
  EXPECT_EQ(memory.num_buffers, 12);
  EXPECT_EQ(memory.page_size_bytes, 1146880);
  EXPECT_EQ(memory.total_bytes(), 660602880);
}

TEST(StateMemoryPlan, TakesTheFirstLayersOfEachGroup) {
  EngineSettings four = settings();
  four.state_layers = 4;
  const StateMemory memory = plan(four, 1024 * kMiB).value();
  EXPECT_EQ(memory.num_buffers, 4);
  EXPECT_EQ(memory.tensors.layers.size(), 12u);
  EXPECT_EQ(memory.total_bytes(), 220200960);
}

TEST(StateMemoryPlan, SaysHowManyLayersFit) {
  EXPECT_EQ(refusal(660602880), "it fits");
  EXPECT_EQ(refusal(660602879),
            "state in bytes needs 630 MiB (12 of 12 layers per group, 48 blocks of 1.1 MiB), more "
            "than the 630 MiB of this test: --layers 11 needs 578 MiB");
  EXPECT_EQ(refusal(256 * kMiB),
            "state in bytes needs 630 MiB (12 of 12 layers per group, 48 blocks of 1.1 MiB), more "
            "than the 256 MiB of this test: --layers 4 needs 210 MiB");
}

TEST(StateMemoryPlan, SaysWhatOneLayerNeedsWhereNoneFits) {
  EXPECT_EQ(refusal(16 * kMiB),
            "state in bytes needs 630 MiB (12 of 12 layers per group, 48 blocks of 1.1 MiB), more "
            "than the 16 MiB of this test: --layers 1 needs 52 MiB; expected more memory "
            "(--state-memory) or fewer blocks (--num-gpu-blocks-override)");
}

TEST(StateMemoryPlan, FollowsTheLayoutOfTheSettings) {
  EngineSettings ds = settings();
  ds.ssm_conv_state_layout = ConvStateLayout::DS;
  const StateMemory memory = plan(ds, 1024 * kMiB).value();
  EXPECT_EQ(memory.tensors.conv_state_layout, ConvStateLayout::DS);
  EXPECT_EQ(memory.layout.state_conv_widths[0], 5);
}

// Known bug 25.
TEST(StateMemoryPlan, RefusesConvWindowsWithoutRoomForDrafts) {
  EngineSettings reference = settings();
  reference.engine = EngineProfile::reference;
  const EngineSetup setup = make_engine_setup("mamba-2.8b", reference).value();
  const auto memory = plan_state_memory(setup, reference, {.bytes = 1024 * kMiB, .reason = {}});
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(memory.error().message,
            "conv windows have 3 positions, the kernels use 5 with 2 drafts and would write into "
            "what lies behind (expected profile safe, which makes room, or symbolic state)");
}

TEST(StateMemoryPlan, RefusesPoliciesThatTheKernelsOfBytesDoNotHave) {
  const auto refusal_of = [](const PolicyValue& value) {
    EngineSettings changed = settings();
    changed.policies.set(value);
    const auto memory = plan(changed, 1024 * kMiB);
    return memory.ok() ? std::string("it fits") : memory.error().message;
  };
  EXPECT_EQ(refusal_of(SameBlockShift::last_position_first),
            "the kernels that keep state in bytes do not have the policy same_block_shift = "
            "last_position_first (expected memmove): run without --state bytes, which checks the "
            "same decisions on symbolic state, or with --state numeric");
  EXPECT_THAT(refusal_of(GdnGates::in_batch_order),
              HasSubstr("gdn_gates = in_batch_order (expected gathered)"));
  EXPECT_THAT(refusal_of(ConvRoll::window_length),
              HasSubstr("conv_roll = window_length (expected row_length)"));
  EXPECT_THAT(refusal_of(NullRows::run), HasSubstr("null_rows = run (expected skipped)"));
  EXPECT_EQ(refusal_of(DummyRunTables::left_over), "it fits");
}

TEST(StateMemoryPlan, NamesAllPoliciesOfAReleaseThatAreInTheWay) {
  const auto refusal_of = [](Release release) {
    EngineSettings changed = settings();
    changed.engine = EngineProfile::vllm(release);
    const auto memory = plan(changed, 1024 * kMiB);
    return memory.ok() ? std::string("it fits") : memory.error().message;
  };
  EXPECT_THAT(refusal_of(Release::v0_27_1),
              HasSubstr("the policy gdn_gates = in_batch_order, same_block_shift = "
                        "last_position_first (expected gathered, memmove): run without"));
  EXPECT_THAT(refusal_of(Release::v0_28_0),
              HasSubstr("the policy same_block_shift = last_position_first (expected memmove)"));
  EXPECT_EQ(refusal_of(Release::v0_29_0), "it fits");
}

TEST(RoundedByteSize, IsForPeople) {
  EXPECT_EQ(rounded_byte_size(1023), "1023 bytes");
  EXPECT_EQ(rounded_byte_size(1536), "1.5 KiB");
  EXPECT_EQ(rounded_byte_size(220200960), "210 MiB");
  EXPECT_EQ(rounded_byte_size(std::int64_t{60} << 30), "60 GiB");
  EXPECT_EQ(rounded_byte_size(std::int64_t{5} << 50), "5120 TiB");
}

}  // namespace
}  // namespace hybridscope::state_memory_plan_test
