#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/drive.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::edits_test {
namespace {

using test::apply;
using test::settle;
using testing::HasSubstr;

const std::string kScenario = "shipped:align_boundary_by_accepted_drafts";

std::int32_t sampled_in_step_2(Workbench& workbench) {
  EXPECT_TRUE(workbench.run()->go_to(2).ok());
  return workbench.run()->view().trace.rows[0].num_sampled_tokens;
}

TEST(Edit, AnEditChangesTheNextStepAndUndoTakesItBack) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"edit.accept", "A 1"});
  EXPECT_EQ(workbench.run()->step(), 1);
  EXPECT_EQ(sampled_in_step_2(workbench), 1);
  apply(workbench, {"edit.undo"});
  EXPECT_EQ(workbench.run()->step(), 1);  // where the edit was made
  EXPECT_EQ(sampled_in_step_2(workbench), 2);
  apply(workbench, {"edit.redo"});
  EXPECT_EQ(sampled_in_step_2(workbench), 1);
  EXPECT_EQ(workbench.plans().undo_words(), "accept 1 of A in step 2");
}

TEST(Edit, ASavedSessionThatIsOpenedCanBeEditedOn) {
  const test::TemporaryFolder folder;
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"run.end"});
  settle(workbench);
  apply(workbench, {"file.save_session", folder / "runs.db:all"});
  apply(workbench, {"file.open", folder / "runs.db:all"});
  apply(workbench, {"edit.accept", "A 1"});
  EXPECT_EQ(sampled_in_step_2(workbench), 1);
}

// A file with one session of the scenario, recorded to its end.
std::string recorded_in(const test::TemporaryFolder& folder) {
  const SessionPlace place{.file = folder / "runs.db", .name = "kept"};
  EXPECT_TRUE(test::record_run(test::shipped_scenario("align_boundary_by_accepted_drafts"),
                               {.place = place})
                  .ok());
  return place.file;
}

TEST(Edit, OfASessionIsTakenBackToTheSessionItself) {
  const test::TemporaryFolder folder;
  const std::string file = recorded_in(folder);
  Workbench workbench;
  apply(workbench, {"file.open", file});
  const std::string title = workbench.run()->title();
  apply(workbench, {"run.go_to", "2"});
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"edit.budget", "5"});
  EXPECT_FALSE(workbench.run()->is_recorded());
  apply(workbench, {"run.step"});
  apply(workbench, {"edit.undo"});
  EXPECT_FALSE(workbench.run()->is_recorded());
  apply(workbench, {"edit.undo"});
  EXPECT_TRUE(workbench.run()->is_recorded());
  EXPECT_EQ(workbench.run()->title(), title);
  EXPECT_EQ(workbench.run()->step(), 2);
  apply(workbench, {"edit.redo"});
  EXPECT_FALSE(workbench.run()->is_recorded());
  EXPECT_EQ(workbench.run()->step(), 2);
  apply(workbench, {"edit.undo"});
  EXPECT_EQ(workbench.run()->title(), title);
  ASSERT_TRUE(workbench.apply_in_window({"file.close"}).ok());
  EXPECT_EQ(workbench.view().dialog, Dialog::none);  // nothing to lose
  EXPECT_EQ(workbench.run(), nullptr);
}

// The digest of its step 2 is not the one that our engine makes.
TEST(Edit, OfASessionThatOurEngineDoesNotReproduceIsRefusedWithTheReason) {
  const test::TemporaryFolder folder;
  const std::string file = recorded_in(folder);
  test::execute(file, "UPDATE digests SET schedule = 7 WHERE step = 2");
  Workbench workbench;
  apply(workbench, {"file.open", file});
  const ShownRun* before = workbench.run();
  apply(workbench, {"edit.accept", "A 1"});  // in step 2: step 1 is as it was recorded
  apply(workbench, {"edit.undo"});
  EXPECT_EQ(workbench.run(), before);
  apply(workbench, {"run.go_to", "2"});
  const Status edited = workbench.apply({"edit.accept", "A 1"});
  ASSERT_FALSE(edited.ok());
  EXPECT_THAT(edited.error().message, HasSubstr("step 2: schedule"));
  EXPECT_THAT(edited.error().message, HasSubstr("does not reproduce here"));
  EXPECT_EQ(workbench.run(), before);
  EXPECT_FALSE(workbench.plans().can_undo());
}

TEST(Edit, ThatCannotBeMadeAgainStaysTheOneToMakeAgain) {
  const test::TemporaryFolder folder;
  const std::string file = recorded_in(folder);
  Workbench workbench;
  apply(workbench, {"file.open", file});
  apply(workbench, {"run.go_to", "2"});
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"edit.undo"});
  test::execute(file, "UPDATE digests SET schedule = 7 WHERE step = 2");
  EXPECT_FALSE(workbench.apply({"edit.redo"}).ok());
  EXPECT_TRUE(workbench.run()->is_recorded());
  ASSERT_TRUE(workbench.plans().can_redo());
  EXPECT_EQ(workbench.plans().redo_words(), "accept 1 of A in step 3");
  EXPECT_FALSE(workbench.plans().can_undo());
}

TEST(Edit, ThatChangesNothingIsNotPartOfTheHistory) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"edit.drop_script"});
  EXPECT_EQ(workbench.plans().undo_words(), "nothing of the script from step 2 on");
  apply(workbench, {"edit.drop_script"});
  EXPECT_THAT(workbench.notice().text, HasSubstr("nothing changes"));
  apply(workbench, {"edit.undo"});
  EXPECT_EQ(workbench.notice().text, "undone: nothing of the script from step 2 on");
  EXPECT_FALSE(workbench.plans().can_undo());
}

class UnsavedEdits : public testing::Test {
 protected:
  UnsavedEdits() {
    apply(workbench_, {"file.open", kScenario});
    apply(workbench_, {"edit.accept", "A 1"});
  }
  void in_window(const GuiCommand& command) {
    ASSERT_TRUE(workbench_.apply_in_window(command).ok());
  }
  bool is_edited() const { return workbench_.run() != nullptr && workbench_.plans().can_undo(); }

  Workbench workbench_;
};

TEST_F(UnsavedEdits, WaitForAnAnswerBeforeTheyAreLost) {
  for (const GuiCommand& leaves :
       {GuiCommand{"file.open", kScenario}, GuiCommand{"file.close"}, GuiCommand{"file.quit"},
        GuiCommand{"lesson.open", "block_tables"}}) {
    in_window(leaves);
    EXPECT_EQ(workbench_.view().dialog, Dialog::unsaved);
    EXPECT_TRUE(is_edited());
    EXPECT_FALSE(workbench_.wants_to_quit());
    apply(workbench_, {"view.close_dialog"});
    EXPECT_FALSE(workbench_.is_waiting());
    EXPECT_TRUE(is_edited());
  }
}

TEST_F(UnsavedEdits, AreDiscardedWhenThatIsTheAnswer) {
  in_window({"file.close"});
  apply(workbench_, {"file.discard_edits"});
  EXPECT_EQ(workbench_.run(), nullptr);
  EXPECT_EQ(workbench_.view().dialog, Dialog::none);
}

TEST_F(UnsavedEdits, AreSavedBeforeWhatWaitedGoesOn) {
  const test::TemporaryFolder folder;
  in_window({"file.close"});
  in_window({"file.save_session"});
  EXPECT_EQ(workbench_.view().dialog, Dialog::argument);
  in_window({"file.save_session", folder / "kept.db"});
  EXPECT_EQ(workbench_.run(), nullptr);
  EXPECT_EQ(workbench_.view().dialog, Dialog::none);
  apply(workbench_, {"file.open", folder / "kept.db"});
}

// A long file is written in slices: what waited goes on when it is whole.
TEST_F(UnsavedEdits, OfALongRunAreWrittenBeforeWhatWaitedGoesOn) {
  const test::TemporaryFolder folder;
  folder.write("long.json", R"({"version": 1, "name": "long", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 96},
    "requests": [{"id": "A", "prompt": 4, "max_tokens": 60}]})");
  apply(workbench_, {"file.open", folder / "long.json"});
  apply(workbench_, {"run.go_to", "40"});
  settle(workbench_);
  apply(workbench_, {"edit.budget", "5"});
  in_window({"file.close"});
  in_window({"file.save_session"});
  in_window({"file.save_session", folder / "kept.db"});
  ASSERT_NE(workbench_.job(), nullptr);
  EXPECT_TRUE(is_edited());
  std::int64_t now = 0;
  while (workbench_.is_busy()) workbench_.advance(1000, [&] { return now += 1000; });
  EXPECT_EQ(workbench_.run(), nullptr);
  apply(workbench_, {"file.open", folder / "kept.db"});
  EXPECT_EQ(workbench_.run()->last_known_step(), 40);
}

TEST_F(UnsavedEdits, AreNotAskedAboutInScriptsOrWhereNothingIsLost) {
  in_window({"file.open", {}});  // asks for the file first
  EXPECT_EQ(workbench_.view().dialog, Dialog::argument);
  apply(workbench_, {"view.close_dialog"});
  in_window({"run.step"});
  EXPECT_EQ(workbench_.view().dialog, Dialog::none);
  apply(workbench_, {"edit.undo"});
  in_window({"file.open", kScenario});
  EXPECT_FALSE(is_edited());
  apply(workbench_, {"edit.accept", "A 1"});
  apply(workbench_, {"file.close"});
  EXPECT_EQ(workbench_.run(), nullptr);
}

// The last answer of a part shows its step: a run that was edited would go.
TEST_F(UnsavedEdits, OfALessonAreAskedAboutBeforeItsNextStepIsShown) {
  Workbench workbench;
  apply(workbench, {"lesson.open", "block_tables"});
  while (workbench.lesson()->step_to_show() == workbench.lesson()->part().step)
    apply(workbench, {"lesson.next"});
  const std::size_t count = workbench.lesson()->taken().size();
  apply(workbench, {"edit.budget", "5"});
  const std::string words = workbench.plans().undo_words();
  for (std::size_t i = 1; i <= count; ++i) {
    const auto answer = fmt::format("{} 1", i);
    ASSERT_TRUE(workbench.apply_in_window({"lesson.answer", answer}).ok());
    EXPECT_EQ(workbench.view().dialog, i == count ? Dialog::unsaved : Dialog::none);
    EXPECT_EQ(workbench.plans().undo_words(), words);
  }
  apply(workbench, {"file.discard_edits"});
  EXPECT_FALSE(workbench.plans().can_undo());
  EXPECT_EQ(workbench.run()->step(), workbench.lesson()->part().step);
}

}  // namespace
}  // namespace hybridscope::edits_test
