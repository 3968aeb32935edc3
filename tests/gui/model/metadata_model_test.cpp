#include "gui/model/metadata_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::metadata_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;
using testing::HasSubstr;

const MetadataArray& array_of(const MetadataModel& model, std::int32_t group,
                              std::string_view name) {
  for (const MetadataSection& section : model.sections)
    for (const MetadataArray& array : section.arrays)
      if (section.group == group && array.array.name == name) return array;
  throw std::runtime_error("no array " + std::string(name));
}

std::vector<std::string> texts(const MetadataArray& array) {
  std::vector<std::string> all;
  for (const ValuePiece& piece : array.pieces)
    all.push_back(piece.text + (piece.changed ? "*" : ""));
  return all;
}

// Three decodes in the graph of four rows; B entered column 1, block 8, in this step.
TEST(MetadataModel, ElementsThatDifferFromTheStepBeforeAreMarked) {
  const auto run = scenario_at("graph_padding", 3);
  const MetadataModel model = make_metadata_model(*run, {});
  EXPECT_THAT(texts(array_of(model, 1, "state_indices_tensor_d")),
              ElementsAre("[2]", "[8]*", "[6]", "[0]"));
  EXPECT_THAT(texts(array_of(model, -1, "seq_lens")), ElementsAre("7*", "9*", "8*", "0"));
  EXPECT_EQ(array_of(model, 1, "state_indices_tensor_d").shape, "[4,1]");
  EXPECT_EQ(array_of(model, 1, "state_indices_tensor_d").dtype, "int32");
  EXPECT_EQ(model.note, "differs from step 2");
}

TEST(MetadataModel, GoingBackComparesWithTheStepBeforeAgain) {
  const auto run = scenario_at("graph_padding", 4);
  ASSERT_TRUE(run->back().value());
  EXPECT_EQ(run->previous_arrays().step, 2);
  EXPECT_THAT(texts(array_of(make_metadata_model(*run, {}), 1, "state_indices_tensor_d")),
              ElementsAre("[2]", "[8]*", "[6]", "[0]"));
}

// The prefill of 30 tokens stores S(24) on its way; the scan has chunks of 4 tokens, 0 to 7.
TEST(MetadataModel, ACheckpointIsToldRowByRow) {
  const auto lines = [](std::int64_t step) {
    return make_metadata_model(*scenario_at("state_inside_a_prefill", step), {})
        .sections.at(2)
        .checkpoints;
  };
  EXPECT_THAT(lines(1), ElementsAre("checkpoint of A (row 0): after 24 of its 30 tokens S(24) goes "
                                    "to block 5, column 2; scan chunk 5 ends there"));
  EXPECT_THAT(lines(2), ElementsAre()) << "B's 6 tokens begin at 24";
}

// GatedDeltaNet's kernel of 0.33.0 stores states every 64 tokens; V2 runs the shorter prompt first.
TEST(MetadataModel, CheckpointsOfGdnAreToldRowByRow) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "checkpoints of GDN", "model": "tiny-gdn",
    "settings": {"engine": "vllm-0.33.0", "mamba_cache_mode": "align", "block_size": 64,
                 "num_gpu_blocks_override": 40, "max_model_len": 512, "async_scheduling": false,
                 "gdn_prefill_backend": "flashinfer"},
    "requests": [{"id": "A", "prompt": 200, "max_tokens": 4},
                 {"id": "B", "prompt": 150, "max_tokens": 4}]
  })"))
                       .value();
  ASSERT_TRUE(run->go_to(1).ok());
  const MetadataModel model = make_metadata_model(*run, {});
  EXPECT_EQ(model.sections.at(2).builder, "GDNAttentionMetadataBuilder");
  EXPECT_THAT(
      model.sections.at(2).checkpoints,
      ElementsAre("checkpoint of B (row 0): after 128 of its 150 tokens S(128) goes to block 12, "
                  "column 1",
                  "checkpoint of A (row 1): after 192 of its 200 tokens S(192) goes to block 5, "
                  "column 2"));
}

TEST(MetadataModel, TheFirstStepHasNothingToCompareWith) {
  const auto run = scenario_at("graph_padding", 1);
  const MetadataModel model = make_metadata_model(*run, {});
  EXPECT_EQ(array_of(model, -1, "seq_lens").num_changed, 0);
  EXPECT_THAT(model.note, HasSubstr("no step before"));
}

TEST(MetadataModel, ASectionNamesItsBuilderAndWhatIsNone) {
  const MetadataModel model = make_metadata_model(*scenario_at("graph_padding", 3), {});
  ASSERT_EQ(model.sections.size(), 3u);
  EXPECT_EQ(model.sections[0].builder, "CommonAttentionMetadata");
  EXPECT_EQ(model.sections[1].title, "group 0 (attention)");
  EXPECT_EQ(model.sections[2].builder, "Mamba2AttentionMetadataBuilder");
  EXPECT_THAT(model.sections[2].absent, HasSubstr("query_start_loc_d, num_accepted_tokens"));
}

TEST(MetadataModel, ArraysOfAReplayedGraphCarryASign) {
  const MetadataModel replayed = make_metadata_model(*scenario_at("graph_padding", 3), {});
  EXPECT_EQ(array_of(replayed, 1, "state_indices_tensor_d").sign, ReplaySign::read);
  EXPECT_EQ(array_of(replayed, 1, "seq_lens").sign, ReplaySign::none);
  const MetadataModel eager = make_metadata_model(*scenario_at("graph_padding", 1), {});
  EXPECT_EQ(array_of(eager, 1, "state_indices_tensor_d").sign, ReplaySign::persistent);
}

TEST(MetadataModel, AReplayOfBuffersThatNoBuildWroteIsWarnedAbout) {
  const MetadataModel model = make_metadata_model(*test::stale_replay(), {});
  EXPECT_EQ(array_of(model, 1, "state_indices_tensor_d").sign, ReplaySign::stale);
  EXPECT_THAT(model.sections.at(2).warning, HasSubstr("never refreshed since the capture"));
}

// Row 0 is A with two drafts, row 1 the prompt of B: of kind non-spec, so number 0 of those.
TEST(MetadataModel, TheSelectedRequestIsFoundInArraysOfItsKindOfRows) {
  const auto run = scenario_at("mixed_gdn_batch", 3);
  const MetadataModel b = make_metadata_model(*run, {1});
  EXPECT_EQ(array_of(b, 1, "non_spec_state_indices_tensor").selected_row, 0);
  EXPECT_EQ(array_of(b, 1, "spec_state_indices_tensor").selected_row, -1);
  EXPECT_EQ(array_of(b, -1, "seq_lens").selected_row, 1);
  const MetadataModel a = make_metadata_model(*run, {0});
  EXPECT_EQ(array_of(a, 1, "spec_state_indices_tensor").selected_row, 0);
  EXPECT_EQ(array_of(a, 1, "non_spec_state_indices_tensor").selected_row, -1);
}

TEST(MetadataModel, EqualElementsInTurnAreOnePiece) {
  const MetadataModel model = make_metadata_model(*scenario_at("mixed_gdn_batch", 3), {});
  const MetadataArray& pointers = array_of(model, 1, "batch_ptr");
  ASSERT_EQ(pointers.pieces.size(), 2u);
  EXPECT_EQ(pointers.pieces[0].text, "0");
  EXPECT_EQ(pointers.pieces[1].text, "-1 x2047");
  EXPECT_EQ(pointers.pieces[1].elements, 2047);
}

TEST(MetadataModel, AnElementIsDescribedWithItsRequestAndItsValueBefore) {
  const auto run = scenario_at("graph_padding", 3);
  const MetadataModel model = make_metadata_model(*run, {});
  const MetadataArray& states = array_of(model, 1, "state_indices_tensor_d");
  EXPECT_THAT(describe_element(*run, model.sections[2], states, 1),
              ElementsAre(Fact{"element", "[1, 0]"}, Fact{"value", "8"}, Fact{"before", "4"},
                          Fact{"row", "1"}, Fact{"request", "B"}));
  EXPECT_EQ(describe_element(*run, model.sections[2], states, 3).back(),
            (Fact{"request", "none: a padding row"}));
}

TEST(MetadataModel, ARecordedRunShowsTheSameInWhicheverOrderStepsAreVisited) {
  const test::TemporaryFolder folder;
  for (const char* name : {"graph_padding", "mixed_gdn_batch", "shared_prefix_all"}) {
    SCOPED_TRACE(name);
    const auto recorded = test::recorded_scenario(folder, name, RecordLevel::full);
    const auto live = scenario_at(name, 1'000'000);
    ASSERT_TRUE(recorded->go_to(1'000'000).ok());
    do {
      ASSERT_EQ(recorded->step(), live->step());
      const MetadataModel expected = make_metadata_model(*live, {0});
      const MetadataModel found = make_metadata_model(*recorded, {0});
      ASSERT_EQ(found.note, expected.note);
      ASSERT_EQ(found.sections.size(), expected.sections.size());
      for (std::size_t s = 0; s < expected.sections.size(); ++s) {
        EXPECT_EQ(found.sections[s].note, expected.sections[s].note);
        for (const MetadataArray& array : expected.sections[s].arrays) {
          SCOPED_TRACE(array.array.name);
          if (!array.note.empty()) continue;  // tables of a session are as wide as what they hold
          const MetadataArray& other =
              array_of(found, expected.sections[s].group, array.array.name);
          EXPECT_EQ(texts(other), texts(array));
          EXPECT_EQ(other.sign, array.sign);
          EXPECT_EQ(other.selected_row, array.selected_row);
        }
      }
      ASSERT_EQ(recorded->back().value(), live->step() != live->marks().front().step);
    } while (live->back().value());
  }
}

TEST(MetadataModel, BelowLevelFullThereIsTheBatchAlone) {
  const test::TemporaryFolder folder;
  const auto run = test::recorded_scenario(folder, "graph_padding", RecordLevel::blocks);
  ASSERT_TRUE(run->go_to(3).ok());
  const MetadataModel model = make_metadata_model(*run, {});
  EXPECT_EQ(model.sections.size(), 1u);
  EXPECT_EQ(run->previous_arrays().step, 0);
}

const MetadataArray* find_array(const MetadataModel& model, std::int32_t group,
                                std::string_view name) {
  for (const MetadataSection& section : model.sections)
    for (const MetadataArray& array : section.arrays)
      if (section.group == group && array.array.name == name) return &array;
  return nullptr;
}

// Three decodes in the graph of four: slots 6 of block 1, 0 of block 7 and 7 of block 5.
TEST(MetadataModel, BlockTablesAndSlotsAreThereWithTheirPadding) {
  const auto run = scenario_at("graph_padding", 3);
  const MetadataModel model = make_metadata_model(*run, {});
  const MetadataArray* slots = find_array(model, 0, "slot_mapping");
  ASSERT_NE(slots, nullptr);
  EXPECT_EQ(values_words(*slots), "14 56 47 -1");
  const MetadataArray* table = find_array(model, 1, "block_table_tensor");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(values_words(*table), "[2 0] [4 8] [6 0] [0 0]");
}

TEST(MetadataModel, AnElementBehindTheLastRowHasNone) {
  const auto run = scenario_at("budget_cuts_drafts_to_zero", 2);
  const MetadataModel model = make_metadata_model(*run, {});
  const MetadataSection& batch = model.sections.front();
  const MetadataArray* starts = find_array(model, -1, "query_start_loc");
  ASSERT_NE(starts, nullptr);
  EXPECT_THAT(describe_element(*run, batch, *starts, 2),
              testing::Contains(Fact{"row", "none: where the last one ends"}));
  const MetadataArray* masks = find_array(model, 1, "spec_sequence_masks");
  ASSERT_NE(masks, nullptr);
  EXPECT_THAT(describe_element(*run, model.sections.at(2), *masks, 3),
              testing::Contains(Fact{"row", "none: the batch has 2 rows"}));
}

// Profile reference: step 5 replays what step 4 wrote.
TEST(MetadataModel, AStaleReplaySaysWhatItReallyRead) {
  const auto run = test::reference_at("prompt_as_long_as_a_verify_window", 5);
  const MetadataModel model = make_metadata_model(*run, {});
  const auto section = std::ranges::find(model.sections, 1, &MetadataSection::group);
  EXPECT_THAT(section->replayed,
              testing::Contains(std::string("read, from step 4: num_accepted_tokens = 1 x3")));
}

TEST(MetadataModel, TheLongestElementSaysHowWideACellIs) {
  const auto run = scenario_at("graph_padding", 3);
  const MetadataModel model = make_metadata_model(*run, {});
  EXPECT_EQ(find_array(model, 0, "slot_mapping")->widest, 2u);  // 14 56 47 -1
  EXPECT_EQ(find_array(model, 1, "state_indices_tensor_d")->widest, 1u);
  const auto all = scenario_at("all_mode_boundary_by_accepted_drafts", 2);
  const MetadataModel unset = make_metadata_model(*all, {});
  EXPECT_EQ(find_array(unset, 1, "block_idx_last_scheduled_token")->widest, 5u);  // 1 unset
}

}  // namespace
}  // namespace hybridscope::metadata_model_test
