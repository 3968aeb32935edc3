// The columns that requests remember: mode all, cleanup, staging; and the groups they belong to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/state/mamba_state_idx.h"
#include "core/state/mode_copies.h"
#include "core/state/state_memory.h"

namespace hybridscope::state_idx_test {
namespace {

using ::testing::ElementsAre;
using Ints = std::vector<std::int32_t>;

constexpr RequestId kA{0};
constexpr RequestId kB{1};
constexpr RequestId kC{2};

TEST(AllMode, OnlyAFullDecodeStepIsRemembered) {
  MambaStateIdx columns{{kB, 4}, {kC, 9}};
  const std::vector<RequestId> req_ids{kA, kB};
  const Ints scheduled{3, 2};
  const Ints computed{6, 20};
  const Status status = postprocess_mamba_all({.num_spec_tokens = 2,
                                               .block_size = 4,
                                               .req_ids = req_ids,
                                               .num_scheduled_tokens = scheduled,
                                               .num_computed_tokens = computed},
                                              columns);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(columns, (MambaStateIdx{{kA, 2}, {kC, 9}}));
}

TEST(AllMode, WithoutSpeculativeTokensNothingIsForgotten) {
  MambaStateIdx columns{{kA, 4}};
  const std::vector<RequestId> req_ids{kA};
  const Ints one{1};
  EXPECT_TRUE(postprocess_mamba_all({.num_spec_tokens = 0,
                                     .block_size = 4,
                                     .req_ids = req_ids,
                                     .num_scheduled_tokens = one,
                                     .num_computed_tokens = one},
                                    columns)
                  .ok());
  EXPECT_EQ(columns, (MambaStateIdx{{kA, 4}}));
}

TEST(AllMode, TheBufferHoldsMinusOneWithoutAnEntryAndBehindTheRows) {
  const MambaStateIdx columns{{kB, 2}, {kC, 1}};
  const std::vector<RequestId> req_ids{kB, kA};
  Ints buffer(4, 7);
  EXPECT_TRUE(preprocess_mamba_all_specdec(req_ids, columns, buffer).ok());
  EXPECT_THAT(buffer, ElementsAre(2, -1, -1, -1));
}

TEST(AllMode, MoreRequestsThanTheBufferHoldsAreAnError) {
  const std::vector<RequestId> req_ids{kB, kA};
  Ints buffer(1);
  EXPECT_FALSE(preprocess_mamba_all_specdec(req_ids, {}, buffer).ok());
}

// Safe: the step of 2 tokens is remembered too, in column (20 + 2 - 1) / 4.
TEST(AllMode, InSafeAStepOfAnyLengthIsRemembered) {
  MambaStateIdx columns{{kB, 4}, {kC, 9}};
  const std::vector<RequestId> req_ids{kA, kB};
  const Ints scheduled{3, 2};
  const Ints computed{6, 20};
  EXPECT_TRUE(remember_last_scheduled_columns({.num_spec_tokens = 2,
                                               .block_size = 4,
                                               .req_ids = req_ids,
                                               .num_scheduled_tokens = scheduled,
                                               .num_computed_tokens = computed},
                                              columns)
                  .ok());
  EXPECT_EQ(columns, (MambaStateIdx{{kA, 2}, {kB, 5}, {kC, 9}}));
}

TEST(CleanupMambaStateIdx, FinishedPreemptedAndResumedRequestsAreForgotten) {
  MambaStateIdx columns{{kA, 4}, {kB, 2}, {kC, 1}, {RequestId{3}, 8}};
  const std::vector<RequestId> finished{kA, RequestId{70}};
  const std::vector<RequestId> preempted{kB};
  const std::vector<RequestId> resumed{kC};
  cleanup_mamba_state_idx({finished, preempted, resumed}, columns);
  EXPECT_EQ(columns, (MambaStateIdx{{RequestId{3}, 8}}));
}

TEST(StageInputs, RowsBehindTheBatchKeepOlderValues) {
  PostprocessInputBuffers buffers = make_postprocess_input_buffers(2);
  buffers.num_computed_tokens[1] = 77;
  const std::vector<RequestId> req_ids{kB};
  const Ints scheduled{3};
  const Ints computed{9};
  const Ints drafts{2};
  const StagePostprocessInputs inputs{.req_ids = req_ids,
                                      .num_scheduled_tokens = scheduled,
                                      .num_computed_tokens = computed,
                                      .num_draft_tokens = drafts};
  EXPECT_TRUE(stage_postprocess_inputs(inputs, {{kB, 5}}, buffers).ok());
  EXPECT_EQ(buffers, (PostprocessInputBuffers{{5, 0}, {3, 0}, {9, 77}, {2, 0}}));
}

TEST(StageInputs, ARequestWithoutAColumnIsAnErrorAndNothingIsWritten) {
  PostprocessInputBuffers buffers = make_postprocess_input_buffers(2);
  const std::vector<RequestId> req_ids{kA, kB};
  const Ints two{1, 1};
  const Status status = stage_postprocess_inputs({.req_ids = req_ids,
                                                  .num_scheduled_tokens = two,
                                                  .num_computed_tokens = two,
                                                  .num_draft_tokens = two},
                                                 {{kA, 5}}, buffers);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(buffers, make_postprocess_input_buffers(2));
}

KVCacheConfig config_of(const std::vector<KVCacheSpec>& specs) {
  KVCacheConfig config;
  for (const KVCacheSpec& spec : specs) {
    config.groups.emplace_back();
    config.groups.back().spec = spec;
  }
  return config;
}

MambaSpec mamba_spec(std::int32_t block_size) {
  MambaSpec spec;
  spec.block_size = block_size;
  return spec;
}

TEST(MambaGroups, TheGroupsKeepTheirNumbersAndShareOneSpec) {
  const auto groups =
      get_mamba_groups(config_of({FullAttentionSpec{}, mamba_spec(32), mamba_spec(32)}));
  EXPECT_THAT(groups.value().group_ids, ElementsAre(1, 2));
  EXPECT_EQ(groups.value().spec.block_size, 32);
}

TEST(MambaGroups, DifferentSpecsOrNoneAreErrors) {
  EXPECT_FALSE(get_mamba_groups(config_of({mamba_spec(32), mamba_spec(16)})).ok());
  EXPECT_FALSE(get_mamba_groups(config_of({FullAttentionSpec{}})).ok());
}

}  // namespace
}  // namespace hybridscope::state_idx_test
