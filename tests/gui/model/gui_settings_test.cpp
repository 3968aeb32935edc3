#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gui/model/gui_settings.h"

namespace hybridscope::gui_settings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<ReadGuiSettings> read(std::string_view text) {
  return read_gui_settings(text, "settings.json");
}

GuiSettings all_changed() {
  return {.theme = ThemeKind::high_contrast,
          .ui_scale = 1.25,
          .recent_files = {"/data/b.db", "/data/a.db"},
          .layout = "Two screens",
          .window = {.width = 1920, .height = 1200},
          .history_mib = 256};
}

TEST(GuiSettings, AreWrittenWithAllMembers) {
  EXPECT_EQ(settings_to_json(all_changed()), R"({
  "theme": "high_contrast",
  "ui_scale": 1.25,
  "recent_files": [
    "/data/b.db",
    "/data/a.db"
  ],
  "layout": "Two screens",
  "window": {
    "width": 1920,
    "height": 1200
  },
  "history_mib": 256
}
)");
}

TEST(GuiSettings, WhatIsWrittenIsReadAsTheSame) {
  for (const GuiSettings& settings : {GuiSettings{}, all_changed()}) {
    const auto result = read(settings_to_json(settings));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.value().settings, settings);
    EXPECT_THAT(result.value().notes, IsEmpty());
  }
}

TEST(GuiSettings, WhatIsAbsentHasItsDefault) {
  const auto result = read(R"({"ui_scale": 2})");
  ASSERT_TRUE(result.ok());
  GuiSettings expected;
  expected.ui_scale = 2;
  EXPECT_EQ(result.value().settings, expected);
}

TEST(GuiSettings, UnknownKeysAreLeftOutWithANote) {
  const auto result = read(R"({"theme": "light", "sound": true, "window": {"x": 4}})");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().settings.theme, ThemeKind::light);
  EXPECT_THAT(result.value().notes,
              ElementsAre("settings.json: /sound: there is no setting \"sound\"; it was left out",
                          "settings.json: /window/x: there is no setting \"x\"; it was left out"));
}

TEST(GuiSettings, ANoteIsOneLineWhateverTheKey) {
  const auto result = read(R"({"so\nund": 1})");
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result.value().notes,
              ElementsAre("settings.json: /so\\x0Aund: there is no setting \"so\\x0Aund\"; it was "
                          "left out"));
}

TEST(GuiSettings, TooManyRecentFilesAreCutWithANoteAndDoublesGo) {
  std::string files = R"("/0", "/0")";
  for (int i = 1; i <= 12; ++i) files += ", \"/" + std::to_string(i) + "\"";
  const auto result = read(R"({"recent_files": [)" + files + "]}");
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(
      result.value().settings.recent_files,
      ElementsAre("/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11"));
  EXPECT_THAT(result.value().notes,
              ElementsAre("settings.json: /recent_files: 14 files; at most the first 12 are kept"));
}

TEST(GuiSettings, AFileNameThatIsNoUtf8DoesNotStopTheRest) {
  GuiSettings settings;
  settings.recent_files = {"/caf\xE9"};
  const auto result = read(settings_to_json(settings));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result.value().settings.recent_files, ElementsAre("/caf\xEF\xBF\xBD"));
}

struct BrokenSettings {
  const char* text;
  const char* message;
};

TEST(GuiSettings, WhatIsBrokenIsRefusedWithPlaceFoundAndExpected) {
  const BrokenSettings rows[] = {
      {"[]", "settings.json: expected an object, found an array of 0"},
      {R"({"theme": "sepia"})",
       "settings.json: /theme: expected one of \"dark\", \"light\", "
       "\"high_contrast\", found \"sepia\""},
      {R"({"theme": 1})", "settings.json: /theme: expected a string, found 1"},
      {R"({"ui_scale": 4.5})",
       "settings.json: /ui_scale: expected a number from 0.5 to 4, found 4.5"},
      {R"({"ui_scale": 0.4})",
       "settings.json: /ui_scale: expected a number from 0.5 to 4, found 0.4"},
      {R"({"ui_scale": null})",
       "settings.json: /ui_scale: expected a number from 0.5 to 4, found null"},
      {R"({"recent_files": "a"})", "settings.json: /recent_files: expected an array, found \"a\""},
      {R"({"recent_files": ["a", 1]})",
       "settings.json: /recent_files/1: expected a string, found 1"},
      {R"({"layout": "../x"})",
       "settings.json: /layout: a layout named \"../x\" (expected 1 to 64 letters, "
       "digits, spaces, \"-\", \"_\" and \".\", no dot or space in front, no space "
       "at the end)"},
      {R"({"window": {"width": 199}})",
       "settings.json: /window/width: expected an integer from 200 to 16384, found "
       "199"},
      {R"({"history_mib": 15})",
       "settings.json: /history_mib: expected an integer from 16 to 1048576, found 15"},
      {R"({"window": {"height": 16385}})",
       "settings.json: /window/height: expected an integer from 200 to 16384, "
       "found 16385"}};
  for (const BrokenSettings& row : rows) {
    const auto result = read(row.text);
    ASSERT_FALSE(result.ok()) << row.text;
    EXPECT_EQ(result.error().message, row.message);
  }
}

TEST(GuiSettings, TextThatIsNoJsonIsCorrupt) {
  const auto result = read("{");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::corrupt);
}

TEST(RecentFiles, TheNewestIsFirstAndStandsThereOnce) {
  EXPECT_THAT(with_recent_file({"/a", "/b", "/c"}, "/b"), ElementsAre("/b", "/a", "/c"));
  EXPECT_THAT(with_recent_file({}, "/a"), ElementsAre("/a"));
}

TEST(RecentFiles, TheOldestOfThirteenGoes) {
  EXPECT_THAT(
      with_recent_file({"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}, "0"),
      ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"));
}

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

}  // namespace hybridscope::gui_settings_test
