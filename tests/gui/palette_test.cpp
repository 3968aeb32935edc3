#include "gui/model/palette_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/command_table.h"
#include "gui/model/panel_infos.h"
#include "gui/panels/panels.h"

namespace hybridscope::palette_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Palette : public testing::Test {
 protected:
  void open() {
    ASSERT_TRUE(workbench_.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  }
  std::vector<std::string> titles(std::string_view query) {
    std::vector<std::string> titles;
    for (const PaletteEntry& entry : palette_entries(workbench_, query))
      titles.push_back(entry.title);
    return titles;
  }
  std::string first(std::string_view query) {
    const auto found = titles(query);
    return found.empty() ? "" : found.front();
  }
  Workbench workbench_{panel_infos()};
};

TEST_F(Palette, ThePanelWhoseTitleBeginsWithTheQueryIsFirst) {
  open();
  EXPECT_EQ(first("spec"), "Panel: Speculative decode");
  EXPECT_EQ(first("batch"), "Panel: Batch rows");
  EXPECT_EQ(first("prefix"), "Panel: Prefix cache");
  EXPECT_EQ(first("copies"), "Panel: State copies");
  EXPECT_EQ(first("why"), "Panel: Why is this here?");
}

TEST_F(Palette, EveryPanelIsFoundByItsTitleAndByItsId) {
  for (const PanelInfo& panel : workbench_.view().panels) {
    SCOPED_TRACE(panel.id);
    for (const std::string_view name : {panel.title, panel.id}) {
      const auto entries = palette_entries(workbench_, name);
      ASSERT_FALSE(entries.empty());
      EXPECT_EQ(entries.front().row->id, "panel.show");
      EXPECT_EQ(entries.front().argument, panel.id);
    }
  }
}

TEST_F(Palette, ACommandIsFirstUnderItsTitleAndUnderItsId) {
  open();
  EXPECT_EQ(first("step"), "Run: Step");  // before the panel "Step in words"
  EXPECT_EQ(first("next theme"), "View: Next theme");
  EXPECT_EQ(first("run.go_to"), "Run: Go to step...");
  EXPECT_EQ(first("undo"), "Edit: Undo");
}

TEST_F(Palette, CommandsThatChangeTheRunComeLastAndAreMarked) {
  open();
  for (const std::string_view query : {"", "step", "prefix", "e", "cache", "reset"}) {
    SCOPED_TRACE(query);
    bool changes = false;
    for (const PaletteEntry& entry : palette_entries(workbench_, query)) {
      EXPECT_EQ(entry.changes_run, changes_run(*entry.row));
      EXPECT_TRUE(entry.changes_run || !changes) << entry.title;
      changes = entry.changes_run;
    }
    EXPECT_TRUE(changes);
  }
  EXPECT_EQ(first("next step: pre"), "Edit: Next step: preempt a request...");
}

TEST_F(Palette, CommandsThatChangeTheRunAreThoseOfTheNextStepAndTheirUndo) {
  std::vector<std::string_view> ids;
  for (const CommandRow* row : all_commands())
    if (changes_run(*row)) ids.push_back(row->id);
  EXPECT_THAT(ids, ElementsAre("edit.undo", "edit.redo", "edit.accept", "edit.drafts",
                               "edit.preempt", "edit.abort", "edit.add_request", "edit.budget",
                               "edit.reset_prefix_cache", "edit.reset_prefix_cache_now",
                               "edit.engine", "edit.policy", "edit.drop_script"));
}

TEST_F(Palette, ScatteredLettersNeverFindWhatChangesOrClosesTheRun) {
  open();
  EXPECT_THAT(titles("nxfnd"), Each(HasSubstr("Next finding")));
  EXPECT_THAT(titles("nxfnd"), Not(IsEmpty()));
  for (const std::string_view query : {"rpcn", "nxfnd", "fqt", "uo", "nsrq", "dsc"}) {
    SCOPED_TRACE(query);
    for (const PaletteEntry& entry : palette_entries(workbench_, query)) {
      EXPECT_FALSE(changes_run(*entry.row)) << entry.title;
      EXPECT_FALSE(may_leave_run(*entry.row)) << entry.title;
    }
  }
  EXPECT_EQ(first("quit"), "File: Quit");
}

TEST_F(Palette, ScatteredLettersCountOnlyWhereNothingMatchesBetter) {
  EXPECT_THAT(titles("blktb"), Not(IsEmpty()));
  EXPECT_THAT(titles("timeline"), Each(HasSubstr("Timeline")));
}

TEST_F(Palette, EntriesHaveTheIdThatScriptsUse) {
  EXPECT_EQ(palette_entries(workbench_, "speculative").front().id, "speculative");
  EXPECT_EQ(palette_entries(workbench_, "next theme").front().id, "view.next_theme");
}

TEST_F(Palette, TheMatchingLettersOfTheNameAreMarked) {
  // "Panel: " has seven bytes.
  EXPECT_THAT(palette_entries(workbench_, "spec").front().highlights, ElementsAre(7, 8, 9, 10));
}

// The letters side by side that were typed, in the title or in the id.
TEST_F(Palette, ExactlyTheTypedLettersAreMarked) {
  for (const std::string query : {"bat", "tab", "step", "cop", "row", "ste", "find"}) {
    SCOPED_TRACE(query);
    for (const PaletteEntry& entry : palette_entries(workbench_, query)) {
      const bool of_id = entry.highlights.empty();
      const auto& places = of_id ? entry.id_highlights : entry.highlights;
      ASSERT_EQ(places.size(), query.size()) << entry.title;
      EXPECT_EQ(places.back() - places.front() + 1, query.size()) << entry.title;
      const std::string text = of_id ? std::string(entry.id) : entry.title;
      EXPECT_TRUE(contains(text.substr(places.front(), query.size()), query)) << text;
    }
  }
  EXPECT_THAT(palette_entries(workbench_, "block_tables.cell").front().id_highlights,
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
}

TEST_F(Palette, AnUnknownPanelIsRefusedWithNearOnes) {
  const auto error = [&](const std::string& panel) {
    return workbench_.apply({"panel.show", panel}).error().message;
  };
  EXPECT_EQ(error("batch"), "there is no panel \"batch\", did you mean \"batch_rows\"?");
  EXPECT_EQ(error("blocks"), "there is no panel \"blocks\", did you mean \"physical_blocks\"?");
  EXPECT_EQ(error("Step in words"),
            "there is no panel \"Step in words\", did you mean \"explanation\"?");
  EXPECT_EQ(error("block"),
            "there is no panel \"block\", did you mean \"block_tables\" or "
            "\"physical_blocks\"?");
  EXPECT_THAT(error("qqqqqq"), HasSubstr("(there are: block_tables, physical_blocks, "));
  EXPECT_EQ(workbench_.apply({"panel.move", "findings time tab"}).error().message,
            "there is no panel \"time\", did you mean \"timeline\"?");
}

TEST(CommandList, HasALineForEachCommandAndPanel) {
  const std::string list = command_list(panel_infos());
  EXPECT_THAT(list, HasSubstr("\n  run.go_to STEP                            Run: Go to step  "
                              "[G Ctrl+G]\n"));
  EXPECT_THAT(list, HasSubstr("\n* edit.undo                                 Edit: Undo"));
  EXPECT_THAT(list, HasSubstr("\n  batch_rows                                Batch rows\n"));
}

}  // namespace
}  // namespace hybridscope::palette_test
