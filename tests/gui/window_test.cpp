// The window as a person uses it, drawn without a display.

#include <GLFW/glfw3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "gui/keyboard.h"
#include "tests/gui/gui_driver.h"
#include "tests/gui/model/faulty_run.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::window_test {
namespace {

class Window : public DrivenWindow {
 protected:
  Selection selection() const { return driver_->workbench().selection(); }
  std::int64_t step() const { return driver_->workbench().run()->step(); }
};

TEST_F(Window, ButtonsStepForwardAndBack) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->click("run.step");
  EXPECT_EQ(step(), 2);
  driver_->click("run.step_back");
  EXPECT_EQ(step(), 1);
}

TEST_F(Window, AClickOnACellSelectsIt) {
  open("align_boundary_by_accepted_drafts", 2);
  driver_->click("cell A 1 1");
  EXPECT_EQ(selection().request, RequestId{0});
  EXPECT_EQ(selection().group, 1);
  EXPECT_EQ(selection().column, 1);
  EXPECT_EQ(selection().block, 3);
}

TEST_F(Window, SteppingKeepsTheSelection) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->click("cell A 1 0");
  const Selection before = selection();
  driver_->click("run.step");
  EXPECT_EQ(selection(), before);
}

TEST_F(Window, TheSameStateIsTheSamePicture) {
  open("align_boundary_by_accepted_drafts", 2);
  driver_->frames(3);  // widths and scrollbars settle
  const Image first = driver_->picture();
  EXPECT_EQ(driver_->picture().rgba, first.rgba);
  driver_->command("run.step_back");
  EXPECT_NE(driver_->picture().rgba, first.rgba);
}

TEST_F(Window, ClickingTheRulerGoesToTheStep) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->command("run.end");
  const std::int64_t last = step();
  driver_->click("ruler");
  EXPECT_GT(step(), 1);
  EXPECT_LT(step(), last);
}

TEST_F(Window, CtrlBBookmarksTheStepAndTheRulerShowsIt) {
  open("align_boundary_by_decode", 1);
  driver_->command("run.end");
  driver_->command("run.go_to 3");
  driver_->press(glfw_key(Key::b), true);
  driver_->frames();
  ASSERT_TRUE(driver_->marks().contains("bookmark 3"));
  driver_->press(glfw_key(Key::b), true, true);
  ASSERT_EQ(driver_->workbench().view().dialog, Dialog::argument);
  driver_->type("copies");
  driver_->press(glfw_key(Key::enter));
  ASSERT_EQ(driver_->workbench().run()->bookmarks().size(), 1U);
  EXPECT_EQ(driver_->workbench().run()->bookmarks()[0].note, "copies");
  driver_->command("run.start");
  driver_->press(glfw_key(Key::f2));
  EXPECT_EQ(step(), 3);
  driver_->command("run.start");
  driver_->click("bookmark 3");
  EXPECT_EQ(step(), 3);
}

// Typing replaces the note that is there, Enter alone keeps it.
TEST_F(Window, TheNoteOfABookmarkIsThereToBeChanged) {
  open("align_boundary_by_decode", 2);
  driver_->command("bookmark.note caf\u00e9");
  driver_->press(glfw_key(Key::b), true, true);
  driver_->press(glfw_key(Key::enter));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::none);
  EXPECT_EQ(driver_->workbench().run()->bookmarks()[0].note, "caf\u00e9");
}

// Of more steps than are written at once.
TEST_F(Window, EscapeStopsAFileThatIsBeingWrittenAndKeepsTheSelection) {
  const TemporaryFolder folder;
  folder.write("long.json", R"({
    "version": 1, "name": "long", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 128},
    "requests": [{"id": "A", "prompt": 3, "max_tokens": 60}]})");
  driver_->command("file.open " + (folder / "long.json"));
  driver_->command("run.end");
  driver_->command("select.block 1");
  Workbench& workbench = driver_->workbench();
  ASSERT_TRUE(workbench.apply({"file.save_session", folder / "long.db"}).ok());
  driver_->frames(1);
  EXPECT_TRUE(driver_->marks().contains("progress"));
  driver_->press(glfw_key(Key::right));  // the run can be used
  ASSERT_NE(workbench.job(), nullptr);
  driver_->press(glfw_key(Key::escape));
  EXPECT_EQ(workbench.job(), nullptr);
  EXPECT_FALSE(driver_->marks().contains("progress"));
  EXPECT_EQ(selection().block, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "long.db"));
}

TEST_F(Window, ABlockLeadsToTheStepThatRegisteredIt) {
  open("align_boundary_by_decode", 6);
  driver_->command("select.block 1");
  driver_->command("panel.show state_inspector");
  driver_->frames(3);
  driver_->click("run.go_to");
  const ShownRun& run = *driver_->workbench().run();
  EXPECT_LT(run.step(), 6);
  const auto& trace = run.view().trace;
  const auto registers = [](const CacheEvent& event) {
    return event.kind == CacheEventKind::registered && event.block == 1;
  };
  EXPECT_TRUE(std::ranges::any_of(trace.cache_events, registers) ||
              std::ranges::any_of(trace.commit_events, registers));
}

TEST_F(Window, F4GoesThroughTheFindingsAndAClickSelectsOne) {
  open("all_mode_boundary_by_accepted_drafts", 1);
  driver_->command("edit.engine reference");
  driver_->command("run.end");
  driver_->command("run.start");
  driver_->command("panel.show findings");
  driver_->press(glfw_key(Key::f4));
  driver_->press(glfw_key(Key::f4));
  driver_->press(glfw_key(Key::f4));
  driver_->frames(3);
  EXPECT_EQ(step(), 4);
  EXPECT_EQ(selection().finding, 2);
  EXPECT_TRUE(driver_->marks().contains("finding 2"));
  driver_->command("select.nothing");
  driver_->click("finding 2");
  EXPECT_EQ(selection().finding, 2);
  EXPECT_EQ(step(), 4);
}

TEST_F(Window, KeysStepAndThePaletteFindsCommands) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->press(glfw_key(Key::right));
  EXPECT_EQ(step(), 2);
  driver_->press(glfw_key(Key::left));
  EXPECT_EQ(step(), 1);
  driver_->press(glfw_key(Key::f1));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::palette);
  driver_->type("next theme");
  driver_->press(glfw_key(Key::enter));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::none);
  EXPECT_EQ(driver_->workbench().view().theme, ThemeKind::light);
}

TEST_F(Window, AKeyThatNeedsAnArgumentAsksForIt) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->press(glfw_key(Key::g));
  ASSERT_EQ(driver_->workbench().view().dialog, Dialog::argument);
  driver_->type("3");
  driver_->press(glfw_key(Key::enter));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::none);
  EXPECT_EQ(step(), 3);
}

TEST_F(Window, ABadArgumentIsToldInTheDialogWhichStays) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->press(glfw_key(Key::f9));
  driver_->type("copy.src_col ==");
  driver_->press(glfw_key(Key::enter));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::argument);
  EXPECT_NE(driver_->workbench().view().dialog_error.find("^"), std::string::npos);
  driver_->press(glfw_key(Key::escape));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::none);
}

TEST_F(Window, AClickChoosesASessionOfTheFile) {
  const TemporaryFolder folder;
  open("align_boundary_by_accepted_drafts", 1);
  driver_->command("file.save_session " + (folder / "runs.db:first"));
  driver_->command("file.save_session " + (folder / "runs.db:second"));
  driver_->command("file.open");
  driver_->frames();  // the field takes the keyboard
  driver_->type(folder / "runs.db");
  driver_->press(glfw_key(Key::enter));
  driver_->click("session first");
  EXPECT_NE(driver_->workbench().run()->title().find("runs.db:first"), std::string::npos);
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::none);
}

TEST_F(Window, EditsAreNotLostWithoutAQuestion) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->command("edit.accept A 1");
  driver_->press(glfw_key(Key::w), true);
  driver_->click("unsaved cancel");
  EXPECT_NE(driver_->workbench().run(), nullptr);
  driver_->press(glfw_key(Key::w), true);
  driver_->click("unsaved discard");
  EXPECT_EQ(driver_->workbench().run(), nullptr);
}

TEST_F(Window, AFaultOfAPanelLeavesTheOthersAndTheSession) {
  const TemporaryFolder folder;
  auto run = LiveRun::create(plan_of_file(scenario_path("plain_decode"))).value();
  ASSERT_TRUE(run->go_to(2).ok());
  Workbench& workbench = driver_->workbench();
  workbench.open(std::make_unique<FaultyRun>(std::move(run), FaultIn::free_queue));
  driver_->frames();
  EXPECT_TRUE(workbench.banner().empty());
  driver_->command("panel.show physical_blocks");
  driver_->frames();
  EXPECT_THAT(workbench.banner(), testing::HasSubstr("cells: 3 of 2"));
  driver_->command("view.dismiss_banner");
  driver_->frames();
  EXPECT_TRUE(workbench.banner().empty());  // until another step is shown
  driver_->command("panel.show block_tables");
  driver_->frames();
  EXPECT_TRUE(driver_->marks().contains("cell A 0 0"));
  driver_->command("file.save_session " + (folder / "kept.db"));
  driver_->command("panel.show physical_blocks");
  driver_->command("run.step");
  driver_->frames();
  EXPECT_THAT(workbench.banner(), testing::HasSubstr("cells: 3 of 2"));
}

// Keys of keyboards that are not of the US layout.

class Keyboard : public OpenWindow {
 protected:
  Dialog dialog() const { return driver_->workbench().view().dialog; }
};

// The German layout types "?" with Shift and the key that types "-" in the US, and "_" with the one
// that types "/".
TEST_F(Keyboard, AQuestionMarkIsTheKeyThatTypesIt) {
  driver_->press_as(glfw_key(Key::slash), "_", true);
  EXPECT_EQ(dialog(), Dialog::none);
  driver_->press_as(glfw_key(Key::minus), "?", true);
  EXPECT_EQ(dialog(), Dialog::keys);
}

TEST_F(Keyboard, AQuestionMarkOfTheUsLayoutToo) {
  driver_->press(glfw_key(Key::slash), false, true);
  EXPECT_EQ(dialog(), Dialog::keys);
}

// The French layout has A where the US has Q.
TEST_F(Keyboard, ALetterIsTheOneThatIsTyped) {
  driver_->press_as(glfw_key(Key::a), "q");
  EXPECT_EQ(dialog(), Dialog::none);
  driver_->press_as(glfw_key(Key::q), "a");
  EXPECT_EQ(dialog(), Dialog::argument);
  EXPECT_EQ(driver_->workbench().view().dialog_command, "edit.accept");
}

TEST_F(Keyboard, LockedCapitalsAreLettersStill) {
  driver_->press_as(glfw_key(Key::g), "G");
  EXPECT_EQ(driver_->workbench().view().dialog_command, "run.go_to");
}

TEST_F(Keyboard, WhatIsTypedIntoAFieldIsNoCommand) {
  driver_->command("breakpoint.add");
  driver_->frames();
  driver_->press_as(glfw_key(Key::minus), "?", true);
  EXPECT_EQ(dialog(), Dialog::argument);
  EXPECT_EQ(driver_->workbench().view().dialog_command, "breakpoint.add");
}

// The German layout has "+" on the key that is "]" in the US, and "z" where that has "y".
TEST_F(Keyboard, WithCtrlAKeyIsWhatIsPrintedOnIt) {
  driver_->surface().keys().follow_layout([](int key) -> std::string {
    if (key == glfw_key(Key::right_bracket)) return "+";
    return key == glfw_key(Key::y) ? "z" : "";
  });
  driver_->press(glfw_key(Key::right_bracket), true);
  EXPECT_FLOAT_EQ(driver_->workbench().view().scale, 1.1F);
  driver_->command("edit.budget 1");
  driver_->press(glfw_key(Key::y), true);
  EXPECT_FALSE(driver_->workbench().plans().can_undo());
  EXPECT_TRUE(driver_->workbench().plans().can_redo());
}

TEST_F(Keyboard, EveryPressBetweenTwoFramesCountsInItsOrder) {
  ASSERT_EQ(driver_->workbench().run()->step(), 1);
  for (int i = 0; i < 3; ++i) driver_->key_goes_down(glfw_key(Key::right));
  driver_->key_goes_down(glfw_key(Key::left));
  driver_->frames();
  EXPECT_EQ(driver_->workbench().run()->step(), 3);
}

TEST_F(Keyboard, AKeyThatIsUpAgainBeforeTheFrameIsHeardByADialog) {
  driver_->press(glfw_key(Key::f1));
  driver_->key_goes_down(glfw_key(Key::escape));
  driver_->frames();
  EXPECT_EQ(dialog(), Dialog::none);
  driver_->press(glfw_key(Key::g));
  driver_->type("2");
  driver_->key_goes_down(glfw_key(Key::enter));
  driver_->frames();
  EXPECT_EQ(driver_->workbench().run()->step(), 2);
}

TEST_F(Keyboard, TheEnterOfTheNumberPadIsEnter) {
  KeyQueue keys;
  keys.key_down(GLFW_KEY_KP_ENTER, {});
  EXPECT_EQ(keys.take(), std::vector{KeyChord{.key = Key::enter}});
  EXPECT_TRUE(keys.take().empty()) << "each is taken once";
}

}  // namespace

}  // namespace hybridscope::test::window_test
