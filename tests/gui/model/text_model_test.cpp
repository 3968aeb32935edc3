// Texts of a language model beside those of lone runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/language/language_machine.h"
#include "gui/model/heat_map_model.h"
#include "gui/model/live_speech.h"
#include "gui/model/text_model.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/drive.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/small_language_model.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::text_model_test {
namespace {

SpokenToken token(std::int64_t step, std::int32_t position, char said, char alone) {
  return {.step = step, .position = position, .id = said, .twin_id = alone, .margin = 2};
}

// The prompt "ab", then "cdX" in steps 1, 2, 3; alone it says "cde".
SpokenText parting_text() {
  return {.request = RequestId{0},
          .prompt = {'a', 'b'},
          .tokens = {token(1, 2, 'c', 'c'), token(2, 3, 'd', 'd'), token(3, 4, 'X', 'e')},
          .rejected = {},
          .alone = {'c', 'd', 'e'}};
}

std::vector<std::string> said(const RequestText& text) {
  std::vector<std::string> words;
  for (const TextColumn& column : text.columns)
    words.push_back((column.is_rejected ? "-" : "") + column.said);
  return words;
}

TEST(TextModel, BothTextsStandBesideEachOtherAndTheFirstDifferenceIsMarked) {
  const RequestText text = told_text(parting_text(), "A", 3, 256);
  EXPECT_EQ(text.prompt, "ab");
  EXPECT_THAT(said(text), testing::ElementsAre("c", "d", "X"));
  EXPECT_EQ(text.columns[2].alone, "e");
  EXPECT_TRUE(text.columns[2].is_first_difference);
  EXPECT_TRUE(text.columns[2].in_step);
  EXPECT_FALSE(text.columns[1].differs);
  EXPECT_EQ(text.verdict,
            "parts from the lone run at token 3 (step 3): \"X\" for \"e\", margin 2; KL 0 on "
            "average, 0 at most, at token 1");
}

TEST(TextModel, ATextThatDoesNotPartHasNoSecondLine) {
  SpokenText spoken = parting_text();
  spoken.tokens.pop_back();
  spoken.alone.clear();
  const RequestText text = told_text(spoken, "A", 2, 256);
  EXPECT_FALSE(text.parts);
  EXPECT_EQ(text.verdict, "as alone");
  EXPECT_EQ(text.columns[0].alone, "");
}

// Drafts "q" and "r" at positions 3 and 4 were rejected in step 2, where "d" came instead.
TEST(TextModel, RejectedDraftsOfTheShownStepStandInFrontOfWhatCameInstead) {
  SpokenText spoken = parting_text();
  spoken.rejected = {{2, 3, 'q'}, {2, 4, 'r'}};
  EXPECT_THAT(said(told_text(spoken, "A", 2, 256)),
              testing::ElementsAre("c", "-q", "-r", "d", "X"));
  EXPECT_THAT(said(told_text(spoken, "A", 3, 256)), testing::ElementsAre("c", "d", "X"));
}

TEST(TextModel, SaysWhyThereIsNoText) {
  const auto run = test::scenario_at("plain_decode", 2);
  EXPECT_EQ(make_text_model(*run, {}, {}).empty,
            "This run is shown without a language model: run.weights gives it one.");
}

// A model of 50 tokens on the decisions of a shipped scenario.
TEST(TextModel, HasTheTextUpToTheShownStepAndTheProbabilitiesOfItsLastToken) {
  const auto run = test::scenario_at("plain_decode", 3);
  run->speak_with(std::make_shared<const LanguageModel>(
      LanguageModel{"tiny/", NumericForm::recurrent,
                    std::make_shared<const HybridModel>(test::small_language_model())}));
  while (run->awaits_more()) (void)run->load_more();
  const TextModel model = make_text_model(*run, {}, {});
  EXPECT_EQ(model.model, "Language model tiny, form recurrent");
  ASSERT_EQ(model.requests.size(), 1U);
  EXPECT_EQ(model.requests[0].columns.size(), 3U);
  EXPECT_EQ(model.requests[0].verdict, "as alone");
  EXPECT_TRUE(model.spaced);
  EXPECT_EQ(model.chances.token, 3);
  ASSERT_EQ(model.chances.table.rows.size(), 5U);
  const TableRow& first = model.chances.table.rows[0];
  EXPECT_EQ(shown_words(first.cells[1]), "\"" + model.requests[0].columns[2].said + "\"");
  EXPECT_EQ(shown_words(first.cells[3]), shown_words(first.cells[1]));
  EXPECT_EQ(make_text_model(*run, {}, {.token = 1}).chances.token, 1);
  (void)run->back();
  EXPECT_EQ(make_text_model(*run, {}, {}).requests[0].columns.size(), 2U);
}

TEST(TextModel, SmallProbabilitiesAreNotZero) {
  EXPECT_EQ(probability_words(0.93F), "0.93");
  EXPECT_EQ(probability_words(0.00002F), "<0.0001");
}

// States beside those of lone runs, by layer and block.

constexpr RequestId kA{0};

// Layer 0 is attention in group 0; layers 1 and 2 are recurrent in group 1.
Speech two_steps() {
  Speech speech(
      {.weights = "tiny",
       .vocab_size = 50,
       .layers = {
           {0, "attention", false}, {1, "GatedDeltaNet", true}, {1, "short convolution", true}}});
  speech.add({.step = 1, .compared = {{kA, 1, 4, StateKind::temporal, false}}});
  speech.add(
      {.step = 2,
       .compared = {{kA, 1, 4, StateKind::temporal, true}, {kA, 1, 7, StateKind::conv, false}},
       .states = {{.step = 2,
                   .request = kA,
                   .group = 1,
                   .layer = 1,
                   .is_read = true,
                   .block = 4,
                   .num_elements = 512,
                   .largest = 0.031}}});
  return speech;
}

TEST(HeatMapModel, HasTheLastComparisonOfEachLayerAndBlock) {
  const Speech speech = two_steps();
  const HeatMapModel model = heat_map_of(speech, 2, numbered_names());
  EXPECT_THAT(model.blocks, testing::ElementsAre(4, 7));
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_EQ(model.layers[0].words, "1 GatedDeltaNet");
  EXPECT_EQ(model.at(0, 0).level, HeatLevel::large);
  EXPECT_EQ(heat_words(model.at(0, 0)), "3e-2");
  EXPECT_EQ(model.at(1, 0).level, HeatLevel::equal);
  EXPECT_EQ(model.at(0, 1).level, HeatLevel::equal);
  EXPECT_EQ(describe_heat(model, numbered_names(), 0, 0),
            "Block 4, layer 1 GatedDeltaNet: |state - lone run| is at most 0.031, in 512 elements, "
            "where a row of r0 read it in step 2");
}

TEST(HeatMapModel, ShowsNothingOfLaterSteps) {
  const Speech speech = two_steps();
  const HeatMapModel model = heat_map_of(speech, 1, numbered_names());
  EXPECT_THAT(model.blocks, testing::ElementsAre(4));
  EXPECT_EQ(model.at(0, 0).level, HeatLevel::equal);
  EXPECT_EQ(model.first, "");
}

TEST(HeatMapModel, NamesTheFirstWrongState) {
  const Speech speech = two_steps();
  const HeatMapModel model = heat_map_of(speech, 9, numbered_names());
  EXPECT_EQ(model.first,
            "The first wrong state: step 2, block 4, layer 1, where a row of r0 read the temporal "
            "state: |state - lone run| is at most 0.031, in 512 elements.");
  EXPECT_EQ(model.first_step, 2);
  EXPECT_EQ(model.first_block, 4);
}

TEST(HeatMapModel, LevelsAreByPowersOfTen) {
  EXPECT_EQ(heat_level(0, 0), HeatLevel::equal);
  EXPECT_EQ(heat_level(0, 1), HeatLevel::tiny);  // other bits of a zero
  EXPECT_EQ(heat_level(0.0001, 1), HeatLevel::small);
  EXPECT_EQ(heat_level(0.01, 1), HeatLevel::large);
  EXPECT_EQ(heat_level(1, 1), HeatLevel::huge);
  EXPECT_EQ(heat_words({.level = HeatLevel::huge, .largest = 12.7, .num_elements = 1}), "12");
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(heat_level(infinite, 1), HeatLevel::huge);
  EXPECT_EQ(heat_words({.level = HeatLevel::huge, .largest = infinite, .num_elements = 1}), "nan");
}

TEST(HeatMapModel, SaysTheLastWriteOfTheSelectedBlock) {
  const auto run = test::scenario_at("plain_decode", 3);
  run->speak_with(std::make_shared<const LanguageModel>(
      LanguageModel{"tiny", NumericForm::recurrent,
                    std::make_shared<const HybridModel>(test::small_language_model())}));
  while (run->awaits_more()) (void)run->load_more();
  const HeatMapModel all = make_heat_map_model(*run, {});
  ASSERT_FALSE(all.blocks.empty());
  const HeatMapModel model = make_heat_map_model(*run, {.block = all.blocks.front()});
  ASSERT_GE(model.selected.size(), 2U);
  EXPECT_THAT(model.selected[0], testing::HasSubstr("equal in every bit"));
  EXPECT_THAT(model.selected[1], testing::HasSubstr("last write: step 3"));
}

// A language model beside a live run that goes back, forward and on with another plan.

std::shared_ptr<const LanguageModel> speaking(NumericForm form = NumericForm::recurrent) {
  return std::make_shared<const LanguageModel>(LanguageModel{
      "tiny", form, std::make_shared<const HybridModel>(test::small_language_model())});
}

class SpeakingWorkbench : public testing::Test {
 protected:
  void SetUp() override {
    workbench_.open(test::scenario_at("trimmed_draft_lists", 3));
    workbench_.speak_with(speaking());
    test::settle(workbench_);
  }
  void apply(const GuiCommand& command) {
    test::apply(workbench_, command);
    test::settle(workbench_);
  }
  TextModel text() { return make_text_model(*workbench_.run(), {}, {}); }

  Workbench workbench_;
};

TEST_F(SpeakingWorkbench, KnowsEveryStepThatIsShown) {
  EXPECT_EQ(workbench_.run()->speech().speech->last_step(), 3);
  apply({"run.step"});
  EXPECT_EQ(workbench_.run()->speech().speech->last_step(), 4);
  apply({"run.step_back"});
  EXPECT_EQ(workbench_.run()->speech().speech->last_step(), 4);
  EXPECT_EQ(text().progress, "");
}

// Step 3 of A rejects three drafts.
TEST_F(SpeakingWorkbench, ShowsTheDraftsThatTheStepRejects) {
  const TextModel model = text();
  int rejected = 0;
  for (const TextColumn& column : model.requests.at(0).columns) rejected += column.is_rejected;
  EXPECT_EQ(rejected, 3);
}

// The other plan begins behind a step that is known, so the model begins again.
TEST_F(SpeakingWorkbench, BeginsAgainWhenAnEditLeavesWhatItKnows) {
  apply({"run.step"});
  apply({"run.step_back"});
  apply({"edit.accept", "A 2"});
  EXPECT_EQ(workbench_.run()->speech().speech->last_step(), 3);
  EXPECT_EQ(text().requests.at(0).verdict, "as alone");
  apply({"run.step"});
  // Three, two that step 4 samples, and two drafts that it rejects.
  EXPECT_EQ(text().requests.at(0).columns.size(), 7U);
}

TEST_F(SpeakingWorkbench, SpeaksInARunThatIsOpenedLater) {
  workbench_.open(test::scenario_at("plain_decode", 2));
  test::settle(workbench_);
  EXPECT_EQ(workbench_.run()->speech().speech->last_step(), 2);
}

TEST_F(SpeakingWorkbench, StopsWhenTheModelIsTakenAway) {
  workbench_.speak_with(nullptr);
  EXPECT_TRUE(workbench_.run()->speech().speech == nullptr);
}

// Short convolutions have no chunks; states are not compared.
TEST_F(SpeakingWorkbench, StartsAgainInAnotherForm) {
  workbench_.speak_with(speaking(NumericForm::chunked));
  test::settle(workbench_);
  EXPECT_EQ(text().model, "Language model tiny, form chunked");
  EXPECT_EQ(text().requests.size(), 2U);
}

std::string words_of(const RequestText& request) {
  std::string words;
  for (const TextColumn& column : request.columns)
    words += (words.empty() ? "" : " ") + column.said;
  return words;
}

// Saved and opened again.
TEST_F(SpeakingWorkbench, ASessionKeepsWhatWasSaid) {
  const test::TemporaryFolder folder;
  apply({"run.end"});
  for (const bool is_kept : {false, true}) {
    SCOPED_TRACE(is_kept);
    if (is_kept) {
      apply({"file.save_session", folder / "spoken.db"});
      apply({"file.open", folder / "spoken.db"});
      apply({"run.end"});
    }
    const TextModel shown = text();
    EXPECT_EQ(shown.model, "Language model tiny, form recurrent");
    ASSERT_EQ(shown.requests.size(), 2U);
    EXPECT_EQ(shown.requests[0].prompt, "13 9 9 15 43 15");
    EXPECT_EQ(words_of(shown.requests[0]), "2 9 31 36 14 0 13 23 25 15 39 39");
    EXPECT_EQ(shown.requests[1].prompt, "18 13 7 33 6");
    EXPECT_EQ(words_of(shown.requests[1]), "42 13 13 0 22 13 13 31 22 36 31 40");
    EXPECT_EQ(shown_words(shown.chances.table.rows.at(0).cells[1]), "\"39\"");
    const HeatMapModel heat = make_heat_map_model(*workbench_.run(), {});
    EXPECT_EQ(heat.blocks, (std::vector<std::int32_t>{3, 4, 5, 6, 8, 9, 10, 11, 12, 14, 17, 18}));
    EXPECT_EQ(heat.cells.size(), 24U);
    EXPECT_EQ(heat.first, "");
  }
}

TEST_F(SpeakingWorkbench, ASessionWithoutAModelSaysSo) {
  const test::TemporaryFolder folder;
  workbench_.speak_with(nullptr);
  apply({"file.save_session", folder / "silent.db"});
  apply({"file.open", folder / "silent.db"});
  EXPECT_EQ(text().empty,
            "No language model ran when this session was recorded; hybridscope run SCENARIO "
            "--weights DIR --record FILE.db keeps what one says.");
}

TEST(LiveSpeech, RunsModelsWhereTheWorkbenchIsToldTo) {
  Workbench workbench;
  int made = 0;
  workbench.set_language_machine([&made](const LanguageMachineRequest& request) {
    ++made;
    return HostLanguageMachine::create(request);
  });
  workbench.open(test::scenario_at("plain_decode", 2));
  test::apply(workbench,
              {"run.weights", HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_lfm2"});
  test::settle(workbench);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(workbench.run()->speech().speech->last_step(), 2);
}

// A model with a layer of which the run's model has none.
TEST(LiveSpeech, SaysWhyAModelCannotRunHere) {
  const auto run = test::scenario_at("plain_decode", 1);
  RunPlan plan = *run->plan();
  std::erase_if(plan.setup.config.kv_cache_config.groups,
                [](const KVCacheGroup& group) { return !group.is_mamba(); });
  LiveSpeech speech(speaking(), plan, CheckScope::step);
  EXPECT_EQ(speech.speech(), nullptr);
  EXPECT_EQ(speech.trouble(),
            "layer 0 of the weights is attention, but the run's model has no layer of that kind");
}

}  // namespace

}  // namespace hybridscope::text_model_test
