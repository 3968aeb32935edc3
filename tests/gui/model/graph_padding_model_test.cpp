#include "gui/model/graph_padding_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/explain/explain_parts.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::graph_padding_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;
using testing::HasSubstr;

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
}  // namespace hybridscope::graph_padding_model_test
