#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "gui/model/gui_settings.h"
#include "gui/model/open_run.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::user_memory_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ViewState two_panels() {
  ViewState view;
  view.panels = test::panels_named({"block_tables", "findings"});
  view.layout = default_layout(view.panels);
  return view;
}

class UserMemoryOf : public testing::Test {
 protected:
  UserMemory memory() const {
    return UserMemory::at([this](const char* name) {
             return std::string(name) == "HOME" ? folder_.path() : std::string();
           })
        .value();
  }
  test::TemporaryFolder folder_;
};

TEST_F(UserMemoryOf, WhatIsKeptIsRecalledByTheNextStart) {
  ViewState view = two_panels();
  view.theme = ThemeKind::light;
  view.scale = 1.5F;
  view.layout.hide_panel("findings");
  UserMemory first = memory();
  first.add_recent_file("/runs/a.db");
  ASSERT_TRUE(first.keep(view).ok());

  ViewState later = two_panels();
  UserMemory second = memory();
  EXPECT_THAT(second.recall(later), IsEmpty());
  EXPECT_EQ(later.theme, ThemeKind::light);
  EXPECT_FLOAT_EQ(later.scale, 1.5F);
  EXPECT_EQ(later.layout, view.layout);
  EXPECT_THAT(second.recent_files(), ElementsAre("/runs/a.db"));
}

TEST_F(UserMemoryOf, SettingsThatCannotBeReadAreToldAndNotWrittenOver) {
  UserMemory first = memory();
  ASSERT_TRUE(first.keep(two_panels()).ok());
  folder_.write(".config/hybridscope/settings.json", "{");
  ViewState view = two_panels();
  UserMemory second = memory();
  EXPECT_THAT(second.recall(view), ElementsAre(HasSubstr("settings.json")));
  ASSERT_TRUE(second.keep(view).ok());
  EXPECT_EQ(folder_.read(".config/hybridscope/settings.json"), "{");
}

TEST_F(UserMemoryOf, LayoutsHaveNames) {
  const UserMemory kept = memory();
  ViewState view = two_panels();
  ASSERT_TRUE(kept.save_layout("wide", view.layout).ok());
  EXPECT_THAT(kept.layout_names().value(), ElementsAre("wide"));
  EXPECT_EQ(kept.load_layout("wide", view).value().tree, view.layout);
  ASSERT_TRUE(kept.remove_layout("wide").ok());
  EXPECT_THAT(kept.layout_names().value(), IsEmpty());
}

TEST_F(UserMemoryOf, TheLayoutOfTheClosedWindowHasANameThatNobodyElseTakes) {
  UserMemory kept = memory();
  ViewState view = two_panels();
  EXPECT_THAT(kept.save_layout("last", view.layout).error().message, HasSubstr("another name"));
  ASSERT_TRUE(kept.keep(view).ok());
  EXPECT_TRUE(kept.load_layout("last", view).ok());
}

TEST_F(UserMemoryOf, ShippedScenariosAreListedAmongTheRecentFiles) {
  UserMemory kept = memory();
  folder_.write("a.db", "");
  kept.add_recent_file(folder_ / "a.db");
  kept.add_recent_file(folder_ / "gone.db");
  kept.add_recent_file("shipped:plain_decode");
  const auto entries = recent_entries(kept.recent_files());
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].path, "shipped:plain_decode");
  EXPECT_EQ(entries[0].title, "plain_decode");
  EXPECT_EQ(entries[1].path, folder_ / "a.db");
}

// The recorder of a.db died in its second step.
TEST_F(UserMemoryOf, RecentSessionsSayHowTheyEnded) {
  const RunPlan plan = test::shipped_scenario("plain_decode");
  const std::string died = folder_ / "a.db";
  ASSERT_TRUE(
      test::record_run(plan, {.place = {died, "one"}, .max_steps = 2, .finishes = false}).ok());
  const auto entries = recent_entries({died, died + ":one"});
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].teaches, "interrupted after 2 steps; " + died);
  EXPECT_EQ(entries[1].teaches, "interrupted after 2 steps; " + died + ":one");
  ASSERT_TRUE(test::record_run(plan, {.place = {died, "two"}}).ok());
  EXPECT_EQ(recent_entries({died})[0].teaches, "2 sessions, 1 interrupted; " + died);
}

TEST(UserMemory, WithoutFoldersItRemembersNothing) {
  UserMemory none;
  ViewState view = two_panels();
  EXPECT_THAT(none.recall(view), IsEmpty());
  EXPECT_TRUE(none.keep(view).ok());
  EXPECT_THAT(none.save_layout("wide", view.layout).error().message, HasSubstr("no folder"));
}

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

}  // namespace hybridscope::user_memory_test
