#include "gui/model/command_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::gui_command_test {
namespace {

using ::testing::ElementsAre;

TEST(GuiScript, EachLineIsAnIdAndTheRestIsItsArgument) {
  const auto commands = read_gui_script("run.step\nselect.cell  A 1 3 \n", "tour.txt");
  ASSERT_TRUE(commands.ok());
  EXPECT_THAT(commands.value(),
              ElementsAre(GuiCommand{"run.step"}, GuiCommand{"select.cell", "A 1 3"}));
}

TEST(GuiScript, EmptyLinesAndCommentsAreLeftOut) {
  const auto commands = read_gui_script("# a tour\n\n  \nrun.step", "tour.txt");
  ASSERT_TRUE(commands.ok());
  EXPECT_THAT(commands.value(), ElementsAre(GuiCommand{"run.step"}));
}

TEST(GuiScript, ALineThatNamesNoCommandIsRefusedWithItsPlace) {
  const auto commands = read_gui_script("run.step\nStep!", "tour.txt");
  ASSERT_FALSE(commands.ok());
  EXPECT_EQ(commands.error().message,
            "tour.txt:2: expected the id of a command such as run.step, found \"Step!\"");
}

TEST(GuiScript, AnIdThatNoCommandHasIsRefusedWithItsPlaceAndNearOnes) {
  const auto message = [](std::string_view script) {
    return read_gui_script(script, "tour.txt").error().message;
  };
  EXPECT_EQ(message("run.step\nrun.stp"),
            "tour.txt:2: there is no command \"run.stp\", did you mean \"run.step\"?");
  EXPECT_EQ(message("theme light"),
            "tour.txt:1: there is no command \"theme\", did you mean \"view.theme\" or "
            "\"view.next_theme\"?");
  EXPECT_EQ(message("qqqqqqq"),
            "tour.txt:1: there is no command \"qqqqqqq\" (hybridscope gui --commands lists them)");
}

TEST(GuiCommand, AsTextItIsAScriptLine) {
  EXPECT_EQ(to_text({"run.go_to", "120"}), "run.go_to 120");
  EXPECT_EQ(to_text({"run.step"}), "run.step");
}

}  // namespace
}  // namespace hybridscope::gui_command_test
