// The rows of a batch and the padding that a captured graph adds to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gui/model/batch_rows_model.h"
#include "gui/model/chunks_model.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_parts.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::batch_rows_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> labels_of(const BatchRowsModel& model) {
  std::vector<std::string> labels;
  for (const AxisSection& section : model.sections) labels.push_back(section.label);
  return labels;
}

std::vector<AxisSegment> segments_of(std::initializer_list<std::int32_t> sizes) {
  std::vector<AxisSegment> segments;
  for (const std::int32_t size : sizes) segments.push_back({.num_tokens = size, .label = {}});
  return segments;
}

TEST(BatchRowsModel, GdnRowsAreSpecAndNonSpec) {
  const auto run = scenario_at("mixed_gdn_batch", 3);
  const BatchRowsModel model = make_batch_rows_model(*run, {});
  EXPECT_THAT(labels_of(model), ElementsAre("1 spec decode", "1 non-spec row", "+7 padding"));
  EXPECT_EQ(model.num_tokens, 11);
  EXPECT_EQ(model.num_tokens_padded, 18);
  EXPECT_EQ(model.num_padding_rows, 0);  // a piecewise graph pads tokens only
  ASSERT_EQ(model.rows.size(), 2u);
  EXPECT_EQ(model.rows[0].row_class, "verify");
  EXPECT_EQ(model.rows[0].num_computed_tokens, 7);
  EXPECT_EQ(model.rows[0].num_query_tokens, 3);
  EXPECT_EQ(model.rows[0].num_draft_count, 2);
  EXPECT_EQ(model.rows[1].first_token, 3);
  EXPECT_EQ(model.rows[1].num_draft_count, -1);
}

// A narrow panel cuts the end.
TEST(BatchRowsModel, TheWordsBeginWithTheStep) {
  const auto run = scenario_at("v2_slots", 4);
  EXPECT_EQ(batch_words(make_batch_rows_model(*run, {}), *run),
            "Step 4 of 4 steps so far, more can come. 9 tokens in 3 rows: not a uniform decode; "
            "runtime mode PIECEWISE: full graphs are for uniform decode batches only; captured "
            "size 16: 7 tokens of padding that the metadata does not see");
}

TEST(BatchRowsModel, AFullGraphPadsRowsToo) {
  const auto run = scenario_at("graph_padding", 3);
  const BatchRowsModel model = make_batch_rows_model(*run, {});
  EXPECT_THAT(labels_of(model), ElementsAre("3 decodes", "+1 padding"));
  EXPECT_EQ(model.num_padding_rows, 1);
  EXPECT_EQ(model.segments.back().first_token, 3);
  EXPECT_EQ(model.segments.back().row, -1);
}

TEST(BatchRowsModel, TheAxisHasEveryTokenOfTheForwardPassOnce) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    while (run->forward().value()) {
      const BatchRowsModel model = make_batch_rows_model(*run, {});
      std::int32_t next = 0;
      for (const AxisSegment& segment : model.segments) {
        EXPECT_EQ(segment.first_token, next);
        next += segment.num_tokens;
      }
      EXPECT_EQ(next, model.num_tokens_padded);
      std::size_t segments = 0;
      for (const AxisSection& section : model.sections) {
        EXPECT_EQ(section.first_segment, segments);
        segments += section.num_segments;
      }
      EXPECT_EQ(segments, model.segments.size());
    }
  }
}

// Z's last step accepted its draft; the count 2 stays in the slot that A gets.
TEST(BatchRowsModel, ACountOfAnotherRequestIsToldWithItsOwner) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "a slot is used again", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 16,
      "max_model_len": 64, "max_num_seqs": 1, "async_scheduling": false, "runner": "v2",
      "enable_prefix_caching": false, "policies": {"slot_count_reset": "align_only"},
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
    "requests": [{"id": "Z", "prompt": 5, "max_tokens": 3},
                 {"id": "A", "prompt": 5, "max_tokens": 3}],
    "script": [{"step": 2, "accept": {"Z": 2}}]})"))
                       .value();
  bool seen = false;
  while (!seen && run->forward().value())
    for (const ShownBatchRow& row : make_batch_rows_model(*run, {}).rows)
      if (row.is_wrong_count) {
        seen = true;
        EXPECT_EQ(row.name, "A");
        EXPECT_EQ(row.count_words, "2 of Z");
        EXPECT_EQ(row.num_accepted_tokens, 2);
      }
  EXPECT_TRUE(seen);
}

// Rows of the persistent batch (V1), and the request's row in the step before.
TEST(BatchRowsModel, RowsThatMovedSayWhereFrom) {
  int num_moved = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    if (run->config().runner == ModelRunner::v2) continue;
    std::map<RequestId, std::size_t> before;
    while (run->forward().value()) {
      std::map<RequestId, std::size_t> now;
      for (const ShownBatchRow& row : make_batch_rows_model(*run, {}).rows) {
        const std::size_t at = now.size();
        now[row.request] = at;
        EXPECT_FALSE(row.is_wrong_count) << path;
        const auto was = before.find(row.request);
        if (was == before.end()) continue;
        EXPECT_EQ(row.moved, was->second != at) << path << " " << run->step() << " " << row.name;
        if (row.moved) {
          EXPECT_EQ(row.origin, "moved from " + std::to_string(was->second));
          ++num_moved;
        }
      }
      if (!now.empty()) before = std::move(now);
    }
  }
  EXPECT_GT(num_moved, 0);
}

TEST(FitAxis, SmallSegmentsKeepTheirLeastWidthAndTheRestSharesTheRoom) {
  const std::vector<float> edges = fit_axis(segments_of({1, 1, 98}), {.room = 100, .least = 5});
  ASSERT_EQ(edges.size(), 4u);
  EXPECT_FLOAT_EQ(edges[1], 5);
  EXPECT_FLOAT_EQ(edges[2], 10);
  EXPECT_NEAR(edges[3], 100, 0.1);
}

TEST(FitAxis, InProportionWhereThereIsRoom) {
  const std::vector<float> edges = fit_axis(segments_of({1, 3}), {.room = 100, .least = 5});
  EXPECT_NEAR(edges[1], 25, 0.1);
  EXPECT_NEAR(edges[2], 100, 0.1);
}

TEST(FitAxis, WiderThanTheRoomOnlyWhereTheLeastWidthsDoNotFit) {
  const std::vector<float> edges = fit_axis(segments_of({1, 1, 1}), {.room = 10, .least = 5});
  EXPECT_THAT(edges, ElementsAre(0, 5, 10, 15));
}

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

const PaddedArray& array_of(const GraphPaddingModel& model, std::string_view name) {
  for (const PaddedGroup& group : model.groups)
    for (const PaddedArray& array : group.arrays)
      if (array.name == name) return array;
  throw std::runtime_error("no array " + std::string(name));
}

std::vector<std::string> elements(const PaddedArray& array) {
  std::vector<std::string> all;
  for (const PaddedElement& element : array.elements)
    all.push_back((element.part == PaddedPart::real      ? "real "
                   : element.part == PaddedPart::padding ? "padding "
                   : element.part == PaddedPart::gap     ? "gap "
                   : element.part == PaddedPart::no_row  ? "no row "
                                                         : "left over ") +
                  element.text);
  return all;
}

// Three decodes in the graph of four.
TEST(GraphPaddingModel, TokensAndRowsAreRealAndPadded) {
  const GraphPaddingModel model = make_graph_padding_model(*scenario_at("graph_padding", 3));
  EXPECT_EQ(model.runtime_mode, "FULL");
  EXPECT_EQ(model.tokens.real, 3);
  EXPECT_EQ(model.tokens.padding, 1);
  EXPECT_EQ(model.rows->real, 3);
  EXPECT_EQ(model.rows->padding, 1);
  EXPECT_THAT(model.words, HasSubstr("captured size 4"));
}

TEST(GraphPaddingModel, EveryCapturedGraphIsListedAndTheOneThatRanIsPicked) {
  const GraphPaddingModel model = make_graph_padding_model(*scenario_at("graph_padding", 3));
  ASSERT_EQ(model.captured.size(), 2u);
  EXPECT_EQ(model.captured[0].title, "PIECEWISE: any batch, between the attention layers");
  EXPECT_THAT(model.captured[0].sizes, ElementsAre(2, 4, 8));
  EXPECT_EQ(model.captured[0].picked, -1);
  EXPECT_EQ(model.captured[1].title, "FULL: uniform decodes");
  EXPECT_THAT(model.captured[1].sizes, ElementsAre(2, 4));
  EXPECT_EQ(model.captured[1].picked, 1);
}

TEST(GraphPaddingModel, ThePickedGraphIsMarkedInThePicture) {
  Workbench workbench;
  workbench.open(scenario_at("graph_padding", 3));
  const Table captured = graph_padding_picture(workbench).tables.at(1);
  const TableRow& full = captured.rows.at(1);
  ASSERT_EQ(full.cells[1].extras->pieces.size(), 2u);
  EXPECT_FALSE(full.cells[1].extras->pieces[0].selected);
  EXPECT_TRUE(full.cells[1].extras->pieces[1].selected);
  EXPECT_EQ(shown_words(full.cells[2]), "4");
  EXPECT_EQ(shown_words(captured.rows.at(0).cells[2]), "");
}

TEST(GraphPaddingModel, PaddingRowsAreToldByWhatTheyHold) {
  const GraphPaddingModel model = make_graph_padding_model(*scenario_at("graph_padding", 3));
  const PaddedArray& states = array_of(model, "state_indices_tensor_d");
  EXPECT_THAT(elements(states), ElementsAre("real 2", "real 8", "real 6", "padding 0"));
  EXPECT_EQ(states.note, "padding: the null block");
  EXPECT_FALSE(states.stale);
  const PaddedArray& starts = array_of(model, "query_start_loc");
  EXPECT_THAT(elements(starts), ElementsAre("real 0", "real 1", "real 2", "real 3", "padding 3"));
  EXPECT_EQ(starts.note, "padding: the last offset again: no tokens");
  EXPECT_EQ(array_of(model, "seq_lens").note, "padding: length 0");
}

// One row of four tokens: the view is cut to tokens, and rows 1 to 3 were never written.
TEST(GraphPaddingModel, WhatNoBuildWroteIsLeftOver) {
  const GraphPaddingModel model =
      make_graph_padding_model(*scenario_at("all_mode_boundary_by_accepted_drafts", 2));
  const PaddedArray& columns = array_of(model, "block_idx_last_scheduled_token");
  EXPECT_THAT(elements(columns),
              ElementsAre("real 1", "left over unset", "left over unset", "left over unset"));
  EXPECT_EQ(columns.note, "3 elements behind were not written in this step");
}

TEST(GraphPaddingModel, AReplayOfBuffersThatNoBuildWroteIsStale) {
  const GraphPaddingModel model = make_graph_padding_model(*test::stale_replay());
  ASSERT_EQ(model.groups.size(), 2u);
  EXPECT_FALSE(model.groups[0].stale);
  EXPECT_TRUE(model.groups[1].stale);
  EXPECT_TRUE(model.groups[1].arrays.empty());
  EXPECT_THAT(model.groups[1].note, HasSubstr("What it read is not kept here"));
  EXPECT_THAT(model.groups[1].note, HasSubstr("never refreshed since the capture"));
}

TEST(GraphPaddingModel, LongRealPartsAreCutInTheMiddle) {
  const GraphPaddingModel model = make_graph_padding_model(*scenario_at("graph_row_padding_v2", 3));
  EXPECT_THAT(
      elements(array_of(model, "spec_token_indx")),
      ElementsAre("real 0", "real 1", "real 2", "real 3", "real 4", "gap 3 more", "real 8"));
}

TEST(GraphPaddingModel, WithoutAFullGraphNothingIsRead) {
  const GraphPaddingModel model = make_graph_padding_model(*scenario_at("graph_padding", 1));
  EXPECT_EQ(model.runtime_mode, "NONE");
  EXPECT_EQ(model.tokens.padding, 0);
  EXPECT_TRUE(model.groups.empty());
  EXPECT_THAT(model.arrays_note, HasSubstr("No full graph"));
}

TEST(GraphPaddingModel, ARecordedRunHasTheSame) {
  const test::TemporaryFolder folder;
  const auto recorded = test::recorded_scenario(folder, "graph_padding", RecordLevel::full);
  ASSERT_TRUE(recorded->go_to(3).ok());
  const GraphPaddingModel model = make_graph_padding_model(*recorded);
  EXPECT_THAT(elements(array_of(model, "state_indices_tensor_d")),
              ElementsAre("real 2", "real 8", "real 6", "padding 0"));
  EXPECT_EQ(model.captured[1].picked, 1);
}

// Profile reference: step 5 replays what step 4 wrote: the state indices of A's row there.
TEST(GraphPaddingModel, AStaleReplayShowsWhatItReallyRead) {
  const auto run = test::reference_at("prompt_as_long_as_a_verify_window", 4);
  const auto written =
      elements(array_of(make_graph_padding_model(*run), "spec_state_indices_tensor"));
  ASSERT_TRUE(run->go_to(5).ok());
  const GraphPaddingModel model = make_graph_padding_model(*run);
  ASSERT_TRUE(model.groups[1].stale);
  EXPECT_THAT(model.groups[1].note, HasSubstr("not refreshed since step 4"));
  EXPECT_THAT(model.groups[1].note, HasSubstr("which is an assumption"));
  const PaddedArray& read = array_of(model, "spec_state_indices_tensor");
  EXPECT_EQ(read.note, "from step 4");
  ASSERT_EQ(read.elements.size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i)
    EXPECT_THAT(written[i], testing::EndsWith(" " + read.elements[i].text));
}

// Two rows of 1 + K = 3 tokens: the arrays are as long as the graph has tokens.
TEST(GraphPaddingModel, WhatIsBehindTheLastRowIsNoPaddingRow) {
  const GraphPaddingModel model =
      make_graph_padding_model(*scenario_at("budget_cuts_drafts_to_zero", 2));
  EXPECT_EQ(model.rows->padding, 0);
  EXPECT_THAT(elements(array_of(model, "num_accepted_tokens")),
              ElementsAre("real 1", "real 1", "no row 1", "no row 1", "no row 1", "no row 1"));
  EXPECT_EQ(array_of(model, "num_accepted_tokens").note, "behind the last row: a count of 1");
}

// Our engine always has a reason; another engine's trace has none.
TEST(GraphPaddingModel, WhyAGraphRanIsNotMadeUp) {
  for (const std::string& path : test::shipped_scenarios()) {
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    while (run->forward().value()) {
      if (run->view().trace.num_scheduled_tokens == 0) continue;
      EXPECT_THAT(make_graph_padding_model(*run).words, testing::Not(HasSubstr("does not tell")))
          << path << " " << run->step();
    }
  }
  const EngineConfig config = scenario_at("graph_padding", 3)->config();
  EXPECT_FALSE(dispatch_reason_known({.runtime_mode = CUDAGraphMode::full}, config));
  EXPECT_FALSE(dispatch_reason_known({.runtime_mode = CUDAGraphMode::none}, config));
}

}  // namespace
}  // namespace hybridscope::batch_rows_model_test
