#include "gui/model/batch_rows_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::batch_rows_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;

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

}  // namespace
}  // namespace hybridscope::batch_rows_model_test
