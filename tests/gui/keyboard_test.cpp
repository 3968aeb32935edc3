// Keys of keyboards that are not of the US layout.
#include "gui/keyboard.h"

#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include "tests/gui/driven_window.h"

namespace hybridscope::test::keyboard_test {
namespace {

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
}  // namespace hybridscope::test::keyboard_test
