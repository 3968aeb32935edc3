#include "gui/model/chunks_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::chunks_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> logical(const ChunkGroup& group) {
  std::vector<std::string> all;
  for (const LogicalChunk& chunk : group.logical)
    all.push_back(std::to_string(chunk.first) + ".." + std::to_string(chunk.last) + " of " +
                  std::to_string(chunk.sequence) + (chunk.is_last ? " last" : ""));
  return all;
}

// Step 3: B computes 4 tokens from position 16, C 12 tokens from position 8; chunk_size 4.
TEST(ChunksModel, ChunksOfMamba2EndWithTheirSequence) {
  const auto run = scenario_at("shared_prefix_all", 3);
  const ChunksModel model = make_chunks_model(*run);
  ASSERT_EQ(model.groups.size(), 1u);
  const ChunkGroup& group = model.groups[0];
  EXPECT_EQ(group.chunk_size, 4);
  EXPECT_EQ(group.num_tokens, 16);
  EXPECT_THAT(logical(group),
              ElementsAre("0..4 of 0 last", "4..8 of 1", "8..12 of 1", "12..16 of 1 last"));
  EXPECT_THAT(group.physical, ElementsAre(0, 4, 8, 12));
  ASSERT_EQ(group.sequences.size(), 2u);
  EXPECT_EQ(group.sequences[0].name, "B");
  EXPECT_EQ(group.sequences[0].num_computed_tokens, 16);
  EXPECT_EQ(group.sequences[1].name, "C");
}

// Of C only: position 16 is a block end and lies behind its token 8, packed 12. B ends at 20.
TEST(ChunksModel, InModeAllBlockEndsAreMarked) {
  const ChunksModel model = make_chunks_model(*scenario_at("shared_prefix_all", 3));
  EXPECT_THAT(model.groups.at(0).boundaries, ElementsAre(12));
}

TEST(ChunksModel, InModeAlignNoBlockEndIsMarked) {
  const ChunksModel model = make_chunks_model(*scenario_at("two_prompts_share_a_budget", 2));
  EXPECT_THAT(logical(model.groups.at(0)),
              ElementsAre("0..4 of 0", "4..8 of 0", "8..12 of 0", "12..14 of 0 last"));
  EXPECT_TRUE(model.groups.at(0).boundaries.empty());
}

// Groups 1 and 2 of the model cut alike: 8 prompt tokens of B, one chunk of at most 64.
TEST(ChunksModel, GroupsThatCutAlikeAreOne) {
  const ChunksModel model = make_chunks_model(*scenario_at("mixed_gdn_batch", 3));
  ASSERT_EQ(model.groups.size(), 1u);
  EXPECT_EQ(model.groups[0].title, "group 1 (gdn_attention), group 2 (gdn_attention)");
  EXPECT_EQ(model.groups[0].chunk_size, 64);
  EXPECT_THAT(logical(model.groups[0]), ElementsAre("0..8 of 0 last"));
  EXPECT_EQ(model.groups[0].sequences.at(0).name, "B");
}

TEST(ChunksModel, AChunkIsDescribedByItsPositions) {
  const ChunksModel model = make_chunks_model(*scenario_at("shared_prefix_all", 3));
  EXPECT_THAT(
      describe_chunk(model.groups.at(0), model.groups.at(0).logical.at(3)),
      ElementsAre(Fact{"chunk", "3, the last of its sequence"}, Fact{"packed tokens", "12..15 (4)"},
                  Fact{"request", "C (seq_idx 1)"}, Fact{"positions", "16..19"}));
}

TEST(ChunksModel, AStepWithoutPrefillSaysSo) {
  const ChunksModel model = make_chunks_model(*scenario_at("shared_prefix_all", 4));
  EXPECT_TRUE(model.groups.empty());
  EXPECT_THAT(model.empty, HasSubstr("No prefill in this step"));
}

TEST(ChunksModel, BelowLevelFullItSaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  const auto run = test::recorded_scenario(folder, "shared_prefix_all", RecordLevel::blocks);
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_THAT(make_chunks_model(*run).empty, HasSubstr("level full"));
}

// Step 3: A decodes token 8, B runs its 6 prompt tokens; without drafts both are rows of the scan.
TEST(ChunksModel, DecodeRowsOfAGdnBatchWithoutSpecRowsAreCountedAsThat) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "gdn", "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "none", "enable_prefix_caching": false,
                 "num_gpu_blocks_override": 32, "max_model_len": 64},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 9},
                 {"id": "B", "prompt": 6, "max_tokens": 9, "at_step": 3}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(3).ok());
  const ChunkGroup group = make_chunks_model(*run).groups.at(0);
  ASSERT_EQ(group.sequences.size(), 2u);
  EXPECT_EQ(chunk_counts(group),
            "packed tokens 7 (1 of decode rows), sequences 2, logical chunks 2, chunk_size 64");
}

}  // namespace
}  // namespace hybridscope::chunks_model_test
