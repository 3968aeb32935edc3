// A language model beside a live run that goes back, forward and on with another plan.
#include "gui/model/live_speech.h"

#include <gtest/gtest.h>

#include "core/language/host_language_machine.h"
#include "gui/model/heat_map_model.h"
#include "gui/model/text_model.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/drive.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/small_language_model.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::live_speech_test {
namespace {

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
    EXPECT_EQ(shown.chances.rows.at(0).said, "\"39\"");
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
}  // namespace hybridscope::live_speech_test
