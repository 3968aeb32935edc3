#include "gui/model/panel_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "gui/model/workbench.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::panel_export_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PanelExport : public testing::Test {
 protected:
  PanelExport() : workbench_(test::panels_named({"block_tables", "requests", "explanation"})) {
    must("file.open", "shipped:align_boundary_by_accepted_drafts");
  }
  void must(const std::string& id, const std::string& argument = {}) {
    const Status done = workbench_.apply({id, argument});
    ASSERT_TRUE(done.ok()) << id << " " << argument << ": " << done.error().message;
  }
  std::string refusal(const std::string& id, const std::string& argument = {}) {
    const Status done = workbench_.apply({id, argument});
    return done.ok() ? "" : done.error().message;
  }
  std::string copied() { return workbench_.outbox().take_clipboard().value_or("nothing"); }

  Workbench workbench_;
};

TEST_F(PanelExport, WithoutANameThePanelShownOrClickedLastIsCopied) {
  must("edit.copy_text");
  EXPECT_THAT(copied(), StartsWith("Block tables\nalign boundary by accepted drafts, step 1\n"));
  must("panel.show", "requests");
  must("edit.copy_text");
  EXPECT_THAT(copied(), StartsWith("Requests\n"));
  EXPECT_EQ(copied(), "nothing");  // taken once
}

TEST_F(PanelExport, APanelBehindItsTabsIsNotInFocus) {
  must("panel.show", "requests");
  must("panel.hide", "requests");
  must("edit.copy_text");
  EXPECT_THAT(copied(), StartsWith("Block tables\n"));
}

TEST_F(PanelExport, ANamedPanelNeedNotBeShown) {
  must("panel.hide", "requests");
  must("edit.copy_panel", "markdown requests");
  EXPECT_THAT(copied(), StartsWith("## Requests\n"));
  EXPECT_FALSE(workbench_.view().layout.leaf_of("requests").has_value());
}

TEST_F(PanelExport, TheNoticeSaysWhatWasCopied) {
  must("edit.copy_panel", "json requests");
  EXPECT_EQ(workbench_.notice().text, "Copied: Requests as JSON, 1 row");
  must("edit.copy_markdown");
  EXPECT_THAT(workbench_.notice().text, HasSubstr("Copied: Block tables as Markdown, "));
  must("edit.copy_panel", "text explanation");
  EXPECT_THAT(workbench_.notice().text, testing::MatchesRegex(".*Step in words as text, .* lines"));
}

TEST_F(PanelExport, WrongWordsAreRefusedAndNothingIsCopied) {
  EXPECT_EQ(refusal("edit.copy_panel", "html"), "expected text, json or markdown, found \"html\"");
  EXPECT_EQ(refusal("edit.copy_panel", "text request"),
            "there is no panel \"request\", did you mean \"requests\"?");
  EXPECT_THAT(refusal("edit.copy_panel", "text requests now"), HasSubstr("found 3 words"));
  EXPECT_EQ(copied(), "nothing");
  must("panel.hide", "block_tables");
  must("panel.hide", "requests");
  must("panel.hide", "explanation");
  EXPECT_EQ(refusal("edit.copy_text"), "no panel is shown");
}

TEST_F(PanelExport, APictureIsAskedForOnceItsPanelIsShown) {
  must("panel.hide", "requests");
  must("panel.export_png", "\"my pictures/a.png\" requests");
  EXPECT_TRUE(workbench_.view().layout.is_active("requests"));
  ASSERT_EQ(workbench_.outbox().pictures.size(), 1u);
  EXPECT_EQ(workbench_.outbox().pictures[0].path, "my pictures/a.png");
  EXPECT_EQ(workbench_.outbox().pictures[0].panel, "requests");
}

TEST_F(PanelExport, APictureIsNoFileThatWasOpened) {
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/plain_decode.json",
                             folder / "a.json");
  must("file.open", folder / "a.json");
  std::filesystem::create_symlink("a.json", folder / "link.png");
  std::filesystem::create_hard_link(folder / "a.json", folder / "hard.png");
  for (const char* name : {"link.png", "hard.png"})
    EXPECT_EQ(refusal("panel.export_png", folder / name),
              (folder / name) + ": this is a file that was opened, " + (folder / "a.json") +
                  ", expected another file");
  // Also when something else is shown.
  must("file.open", "shipped:align_boundary_by_accepted_drafts");
  EXPECT_NE(refusal("panel.export_png", folder / "link.png"), "");
  EXPECT_TRUE(workbench_.outbox().pictures.empty());
}

TEST_F(PanelExport, TwoPicturesAreTwoFiles) {
  const test::TemporaryFolder folder;
  must("panel.export_png", folder / "a.png");
  EXPECT_EQ(
      refusal("panel.export_png", folder / "./a.png"),
      (folder / "a.png") + " and " + (folder / "./a.png") + " are the same, expected two places");
  workbench_.outbox().pictures.clear();  // it is written
  must("panel.export_png", folder / "a.png");
}

TEST_F(PanelExport, TheDialogSuggestsAName) {
  must("panel.show", "requests");
  must("panel.export_png");
  EXPECT_EQ(workbench_.view().dialog, Dialog::argument);
  EXPECT_EQ(workbench_.view().dialog_text, "requests-step-1.png");
  must("panel.export_png", "a.png");
  EXPECT_EQ(workbench_.view().dialog, Dialog::none);
  EXPECT_EQ(workbench_.view().dialog_text, "");
}

}  // namespace
}  // namespace hybridscope::panel_export_test
