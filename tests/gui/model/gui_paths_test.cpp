#include "gui/model/gui_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hybridscope::gui_paths_test {
namespace {

using ::testing::HasSubstr;

EnvironmentLookup environment(std::map<std::string, std::string> variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

TEST(GuiPaths, AreBelowTheXdgFolders) {
  const auto lookup =
      environment({{"XDG_CONFIG_HOME", "/cfg"}, {"XDG_STATE_HOME", "/state"}, {"HOME", "/home/a"}});
  EXPECT_EQ(settings_path(lookup).value(), "/cfg/hybridscope/settings.json");
  EXPECT_EQ(layouts_folder(lookup).value(), "/state/hybridscope/layouts");
}

TEST(GuiPaths, WithoutThemTheyAreBelowTheHome) {
  const auto lookup = environment({{"HOME", "/home/a"}});
  EXPECT_EQ(settings_path(lookup).value(), "/home/a/.config/hybridscope/settings.json");
  EXPECT_EQ(layouts_folder(lookup).value(), "/home/a/.local/state/hybridscope/layouts");
}

TEST(GuiPaths, ARelativeFolderDoesNotCount) {
  const auto lookup = environment({{"XDG_CONFIG_HOME", "cfg"}, {"HOME", "/home/a"}});
  EXPECT_EQ(settings_path(lookup).value(), "/home/a/.config/hybridscope/settings.json");
}

TEST(GuiPaths, WithoutAHomeThereIsNoPlace) {
  for (const auto& lookup : {environment({}), environment({{"HOME", "home"}})}) {
    const auto path = settings_path(lookup);
    ASSERT_FALSE(path.ok());
    EXPECT_EQ(path.error().kind, ErrorKind::not_available);
    EXPECT_THAT(path.error().message, HasSubstr("neither XDG_CONFIG_HOME nor HOME"));
    EXPECT_THAT(layouts_folder(lookup).error().message,
                HasSubstr("neither XDG_STATE_HOME nor HOME"));
  }
}

TEST(LayoutName, IsMadeOfLettersDigitsSpacesAndThreeSigns) {
  for (const char* name : {"wide", "Two screens", "a", "v1.2_b-3", "7"})
    EXPECT_TRUE(check_layout_name(name).ok()) << name;
  EXPECT_TRUE(check_layout_name(std::string(64, 'a')).ok());
}

TEST(LayoutName, NamesNoOtherFolderAndNoHiddenFile) {
  for (const char* name :
       {"", "a/b", "..", ".", ".hidden", "a\\b", "a\nb", " a", "a ", "\xC3\xA9", "a:b", "a*"})
    EXPECT_FALSE(check_layout_name(name).ok()) << name;
  EXPECT_FALSE(check_layout_name(std::string(65, 'a')).ok());
  EXPECT_FALSE(check_layout_name(std::string_view("a\0b", 3)).ok());
}

TEST(LayoutName, TheErrorNamesWhatWasFoundAndExpected) {
  EXPECT_EQ(check_layout_name("a/b").error().message,
            "a layout named \"a/b\" (expected 1 to 64 letters, digits, spaces, \"-\", \"_\" and "
            "\".\", no dot or space in front, no space at the end)");
}

}  // namespace
}  // namespace hybridscope::gui_paths_test
