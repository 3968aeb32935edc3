#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "gui/model/content_render.h"
#include "gui/model/palette_model.h"
#include "gui/model/run_control.h"
#include "gui/model/timeline_model.h"
#include "gui/model/workbench.h"
#include "storage/session_file.h"
#include "tests/gui/model/drive.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::breakpoints_test {
namespace {

using test::apply;
using test::settle;
using testing::HasSubstr;

const std::string kScenario = "shipped:align_boundary_by_accepted_drafts";

TEST(Breakpoint, ABreakpointStopsTheRunAndSelectsWhatItIsAbout) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"breakpoint.add", "copy.src_col==copy.dst_col && copy.accept_token_bias>0"});
  apply(workbench, {"run.to_breakpoint"});
  settle(workbench);
  EXPECT_EQ(workbench.run()->step(), 2);
  EXPECT_EQ(workbench.selection().request, RequestId{0});
  EXPECT_EQ(workbench.breakpoints().list()[0].hits(), 1);
}

TEST(Breakpoint, AStepCountsOnceForABreakpointHoweverOftenItIsShown) {
  Workbench workbench;
  apply(workbench, {"breakpoint.add", "step>0"});
  apply(workbench, {"file.open", kScenario});
  EXPECT_THAT(workbench.notice().text, HasSubstr("step 1"));
  const auto hits = [&] { return workbench.breakpoints().list()[0].hits(); };
  EXPECT_EQ(hits(), 1);
  for (const char* move : {"run.step", "run.step_back", "run.step", "run.step_back", "run.step"})
    apply(workbench, {move});
  EXPECT_EQ(workbench.run()->step(), 2);
  EXPECT_EQ(hits(), 2);
  apply(workbench, {"run.end"});
  settle(workbench);
  EXPECT_EQ(hits(), workbench.run()->step());
  ASSERT_GT(workbench.run()->step(), 2);
  apply(workbench, {"run.go_to", "2"});
  apply(workbench, {"edit.accept", "A 1"});  // what is behind step 2 is another run
  EXPECT_EQ(hits(), 2);
}

TEST(Breakpoint, ABreakpointOnWhatASessionDoesNotKeepIsRefused) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "blocks"};
  ASSERT_TRUE(test::record_run(test::shipped_scenario("plain_decode"),
                               {.place = place, .level = RecordLevel::blocks})
                  .ok());
  Workbench workbench;
  apply(workbench, {"breakpoint.add", "written"});
  apply(workbench, {"file.open", place.file});
  constexpr const char* kWhy = "kept at level full; this session is at level blocks";
  EXPECT_THAT(workbench.apply({"run.to_breakpoint"}).error().message, HasSubstr(kWhy));
  EXPECT_FALSE(workbench.is_moving());
  apply(workbench, {"breakpoint.clear"});
  EXPECT_THAT(workbench.apply({"breakpoint.add", "written"}).error().message, HasSubstr(kWhy));
  apply(workbench, {"breakpoint.add", "finding"});
  apply(workbench, {"run.to_breakpoint"});
}

TEST(Breakpoint, ABadOnePointsIntoTheExpression) {
  Workbench workbench;
  const Status done = workbench.apply({"breakpoint.add", "copy.src_colum > 1"});
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("\n"));
  EXPECT_THAT(done.error().message, HasSubstr("^"));
  EXPECT_TRUE(workbench.breakpoints().list().empty());
}

TEST(BreakpointsPicture, ACheckBoxAndAButtonAreItsCommandsAndTheButtonIsNotCopied) {
  Workbench workbench;
  apply(workbench, {"breakpoint.add", "step == 3"});
  const Picture picture = breakpoints_picture(workbench);
  const Table& table = picture.tables.at(0);
  const TableRow& row = table.rows.at(0);
  EXPECT_EQ(row.cells[0].value, CellValue(true));
  EXPECT_EQ(row.cells[0].extras->clicks.at(0).command, "breakpoint.toggle");
  EXPECT_EQ(shown_words(row.cells[2]), "step == 3");
  EXPECT_EQ(row.cells[3].extras->label, "Remove");
  EXPECT_EQ(row.cells[3].extras->clicks.at(0).argument, "1");
  EXPECT_EQ(copied_columns(table), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(picture.fields.at(0).check("step == 4").ok());
  EXPECT_FALSE(picture.fields.at(0).check("step ==").ok());
}

// Bookmarks of runs that are made and of recorded ones, through the commands of the workbench.

using testing::ElementsAre;
using testing::IsEmpty;

// Runs `body` as a user who may write nothing here; 0: it answered true. Root may write anywhere.
int as_nobody(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Bookmarks : public testing::Test {
 protected:
  void must(const std::string& id, const std::string& argument = {}) {
    const Status done = workbench_.apply({id, argument});
    ASSERT_TRUE(done.ok()) << id << ": " << done.error().message;
  }
  void open_live() {
    must("file.open", "shipped:align_boundary_by_decode");
    while (workbench_.run()->forward().value()) {
    }
  }
  // Six steps of it, in a file.
  void open_recorded() {
    workbench_.open(
        test::recorded_scenario(folder_, "align_boundary_by_decode", RecordLevel::full));
    file_ = folder_ / "runs.db";
    must("run.go_to", "2");
  }
  std::vector<ShownBookmark> shown() const {
    const auto bookmarks = workbench_.run()->bookmarks();
    return {bookmarks.begin(), bookmarks.end()};
  }
  // What another program finds in the file.
  std::vector<ShownBookmark> kept() const {
    const SessionFile file = SessionFile::open(file_, FileAccess::read).value();
    std::vector<ShownBookmark> found;
    const auto bookmarks = file.bookmarks(1);
    for (const Bookmark& bookmark : bookmarks.value())
      found.push_back({bookmark.step, bookmark.note});
    return found;
  }

  test::TemporaryFolder folder_;
  std::string file_;
  Workbench workbench_;
};

TEST_F(Bookmarks, AreAddedAndNotedAndRemovedAtTheStepThatIsShown) {
  open_live();
  must("run.go_to", "4");
  must("bookmark.add");
  must("run.go_to", "2");
  must("bookmark.note", "the first copy");
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{2, "the first copy"}, ShownBookmark{4, ""}));
  must("bookmark.note", "a copy");
  must("bookmark.add");  // there already: the note stays
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{2, "a copy"}, ShownBookmark{4, ""}));
  must("bookmark.remove");
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{4, ""}));
  EXPECT_EQ(workbench_.apply({"bookmark.remove", ""}).error().message, "step 2 has no bookmark");
}

TEST_F(Bookmarks, TheQuestionForANoteProposesTheOneThereIs) {
  open_live();
  must("run.go_to", "2");
  must("bookmark.note");
  EXPECT_EQ(workbench_.view().dialog, Dialog::argument);
  EXPECT_EQ(workbench_.view().dialog_text, "");
  must("bookmark.note", "a copy");
  must("bookmark.note");
  EXPECT_EQ(workbench_.view().dialog_text, "a copy");
}

TEST_F(Bookmarks, NextAndPreviousGoFromOneToTheOther) {
  open_live();
  for (const char* step : {"2", "4"}) {
    must("run.go_to", step);
    must("bookmark.add");
  }
  must("run.go_to", "1");
  must("bookmark.next");
  EXPECT_EQ(workbench_.run()->step(), 2);
  must("bookmark.next");
  EXPECT_EQ(workbench_.run()->step(), 4);
  must("bookmark.next");
  EXPECT_EQ(workbench_.run()->step(), 4);
  EXPECT_EQ(workbench_.notice().text, "no step after this one is bookmarked");
  must("bookmark.previous");
  EXPECT_EQ(workbench_.run()->step(), 2);
}

TEST_F(Bookmarks, SurviveEditsAndUndo) {
  open_live();
  must("run.go_to", "4");
  must("bookmark.note", "late");
  must("run.go_to", "2");
  must("bookmark.note", "here");
  must("edit.budget", "1");
  // Step 4 of the edited run is still to come: its bookmark waits for it.
  EXPECT_EQ(workbench_.run()->last_known_step(), 2);
  EXPECT_THAT(bookmarks_of_known_steps(*workbench_.run()), ElementsAre(ShownBookmark{2, "here"}));
  must("bookmark.next");
  EXPECT_EQ(workbench_.run()->step(), 2);
  ASSERT_TRUE(workbench_.run()->go_to(4).ok());
  EXPECT_THAT(bookmarks_of_known_steps(*workbench_.run()),
              ElementsAre(ShownBookmark{2, "here"}, ShownBookmark{4, "late"}));
  must("edit.undo");
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{2, "here"}, ShownBookmark{4, "late"}));
}

TEST_F(Bookmarks, OfALiveRunAreSavedWithItsSession) {
  open_live();
  must("run.go_to", "3");
  must("bookmark.note", "saved");
  file_ = folder_ / "saved.db";
  must("file.save_session", file_);
  EXPECT_THAT(kept(), ElementsAre(ShownBookmark{3, "saved"}));
}

TEST_F(Bookmarks, OfASessionAreInItsFileAtOnce) {
  open_recorded();
  must("bookmark.note", "look");
  EXPECT_THAT(kept(), ElementsAre(ShownBookmark{2, "look"}));
  must("bookmark.note", "look here");
  EXPECT_THAT(kept(), ElementsAre(ShownBookmark{2, "look here"}));
  EXPECT_EQ(shown(), kept());
  must("bookmark.remove");
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_THAT(shown(), IsEmpty());
}

TEST_F(Bookmarks, OfASessionThatIsEditedGoOnWithTheRun) {
  open_recorded();
  must("bookmark.note", "look");
  must("edit.budget", "1");
  must("bookmark.note", "not in the file");
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{2, "not in the file"}));
  EXPECT_THAT(kept(), ElementsAre(ShownBookmark{2, "look"}));
}

TEST_F(Bookmarks, AFileThatIsLockedIsToldAndWhatIsThereStays) {
  open_recorded();
  must("bookmark.note", "look");
  Status done = Ok{};
  test::while_locked(file_, [&] { done = workbench_.apply({"bookmark.note", "lost?"}); });
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr(file_));
  EXPECT_THAT(done.error().message, HasSubstr("locked"));
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{2, "look"}));
  EXPECT_EQ(shown(), kept());
}

TEST_F(Bookmarks, AFileThatCannotBeWrittenIsToldAndWhatIsThereStays) {
  open_recorded();
  must("bookmark.note", "look");
  chmod(folder_.path().c_str(), 0555);
  chmod(file_.c_str(), 0444);
  const auto is_told = [&] {
    const Status done = workbench_.apply({"bookmark.note", "lost?"});
    return !done.ok() && done.error().message.find(file_) != std::string::npos &&
           done.error().message.find("read-only") != std::string::npos;
  };
  EXPECT_EQ(as_nobody(is_told), 0);
  EXPECT_THAT(shown(), ElementsAre(ShownBookmark{2, "look"}));
  EXPECT_EQ(shown(), kept());
  chmod(folder_.path().c_str(), 0755);
}

TEST_F(Bookmarks, AreFoundInThePaletteByTheirNote) {
  open_live();
  must("run.go_to", "3");
  must("bookmark.note", "the wrong copy");
  must("run.go_to", "1");
  const auto entries = palette_entries(workbench_, "wrong copy");
  ASSERT_FALSE(entries.empty());
  EXPECT_EQ(entries.front().title, "Bookmark at step 3: the wrong copy");
  must(std::string(entries.front().row->id), entries.front().argument);
  EXPECT_EQ(workbench_.run()->step(), 3);
}

TEST_F(Bookmarks, TheRulerHasThemInTheColumnOfTheirStep) {
  open_live();
  must("run.go_to", "3");
  must("bookmark.note", "look");
  const auto columns = make_ruler(*workbench_.run(), 1000);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    EXPECT_EQ(columns[c].bookmarked, columns[c].first == 3) << c;
    EXPECT_EQ(bookmark_words(*workbench_.run(), columns, c),
              columns[c].first == 3 ? "bookmark at step 3: look" : "");
  }
  // Two columns: each covers several steps.
  const auto narrow = make_ruler(*workbench_.run(), 1);
  EXPECT_TRUE(narrow[0].bookmarked);
}

// Of steps 1 to 8, number 4 copies and number 3 does not.
TEST_F(Bookmarks, AColumnOfTheRulerSaysWhichStepsItIsAndHasWhatTheyHave) {
  open_live();
  const auto columns = make_ruler(*workbench_.run(), 1000);
  ASSERT_EQ(columns.size(), 8u);
  EXPECT_EQ(column_words(columns[2]), "Step 3");
  EXPECT_FALSE(has(columns[2], RulerLane::copies));
  EXPECT_TRUE(has(columns[3], RulerLane::copies));
  EXPECT_FALSE(has(columns[3], RulerLane::bookmarks));
  const auto narrow = make_ruler(*workbench_.run(), 1);
  EXPECT_EQ(column_words(narrow[0]), "Steps 1 to 8");
  EXPECT_TRUE(has(narrow[0], RulerLane::copies));
}

}  // namespace

}  // namespace hybridscope::breakpoints_test
