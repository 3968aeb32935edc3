#include "gui/model/user_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace hybridscope::user_files_test {
namespace {

using ::testing::HasSubstr;

std::ptrdiff_t num_entries(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

TEST(UserFiles, FoldersAreMadeAndNothingElseIsLeft) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_user_file(folder / "a/b/file.json", "new").ok());
  EXPECT_EQ(folder.read("a/b/file.json"), "new");
  EXPECT_EQ(num_entries(folder / "a/b"), 1);
}

TEST(UserFiles, AFileIsWrittenOver) {
  const test::TemporaryFolder folder;
  folder.write("file.json", "a longer text from before");
  ASSERT_TRUE(write_user_file(folder / "file.json", "new").ok());
  EXPECT_EQ(folder.read("file.json"), "new");
}

TEST(UserFiles, ALinkStaysALink) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "kept");
  folder.write("kept/real.json", "old");
  std::filesystem::create_symlink("kept/real.json", folder / "file.json");
  ASSERT_TRUE(write_user_file(folder / "file.json", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "file.json"));
  EXPECT_EQ(folder.read("kept/real.json"), "new");
}

// Folders below a file cannot be created by any user, as in a read-only home.
TEST(UserFiles, AFolderThatCannotBeMadeIsAnError) {
  const test::TemporaryFolder folder;
  folder.write("home", "");
  const Status written = write_user_file(folder / "home/.config/file.json", "new");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::not_available);
  EXPECT_EQ(written.error().message,
            "cannot make the folder " + (folder / "home/.config") + ": Not a directory");
}

TEST(UserFiles, AFileThatCannotBeMadeIsAnError) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "file.json");
  const Status written = write_user_file(folder / "file.json", "new");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("it is a directory"));
}

TEST(GuiSettingsFile, WhatIsSavedIsLoaded) {
  const test::TemporaryFolder folder;
  GuiSettings settings;
  settings.theme = ThemeKind::light;
  settings.recent_files = {"/data/a.db"};
  ASSERT_TRUE(save_gui_settings(folder / "hybridscope/settings.json", settings).ok());
  const auto loaded = load_gui_settings(folder / "hybridscope/settings.json");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().settings, settings);
}

TEST(GuiSettingsFile, WithoutAFileTheDefaultsCount) {
  const test::TemporaryFolder folder;
  const auto loaded = load_gui_settings(folder / "nowhere/settings.json");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().settings, GuiSettings{});
}

TEST(GuiSettingsFile, ABrokenFileIsAnErrorThatNamesIt) {
  const test::TemporaryFolder folder;
  folder.write("settings.json", R"({"ui_scale": 9})");
  const auto loaded = load_gui_settings(folder / "settings.json");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message,
            (folder / "settings.json") + ": /ui_scale: expected a number from 0.5 to 4, found 9");
}

TEST(GuiSettingsFile, AFolderInItsPlaceIsAnError) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "settings.json");
  const auto loaded = load_gui_settings(folder / "settings.json");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().kind, ErrorKind::io);
}

}  // namespace
}  // namespace hybridscope::user_files_test
