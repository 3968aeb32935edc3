#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "gui/model/file_job.h"
#include "gui/model/live_run.h"
#include "gui/model/recorded_run.h"
#include "gui/model/workbench.h"
#include "sessions/record/session_plan.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::file_job_test {
namespace {

using testing::HasSubstr;

Status write(Result<std::unique_ptr<FileJob>> job) {
  if (!job.ok()) return job.error();
  for (;;) {
    const auto more = job.value()->step();
    if (!more.ok()) return more.error();
    if (!more.value()) return Ok{};
  }
}
Status save_session(const ShownRun& run, const RunFile& file) {
  return write(begin_session_file(run, file));
}
Status export_report(const ShownRun& run, const RunFile& file) {
  return write(begin_report_file(run, file));
}

std::unique_ptr<LiveRun> run_at(std::int64_t step) {
  auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                "/scenarios/align_boundary_by_decode.json"))
                 .value();
  EXPECT_TRUE(run->go_to(step).ok());
  return run;
}

TEST(SaveSession, KeepsTheKnownStepsAndThePlanOfARunThatIsMade) {
  const test::TemporaryFolder folder;
  const auto live = run_at(3);
  const std::string place = folder / "runs.db:three";
  ASSERT_TRUE(save_session(*live, {place, "test"}).ok());
  const auto saved = RecordedRun::open(parse_session_place(place)).value();
  EXPECT_EQ(saved->last_known_step(), 3);
  EXPECT_EQ(saved->info().status, SessionStatus::stopped);
  ASSERT_NE(saved->plan(), nullptr);
  EXPECT_EQ(write_session_plan(*saved->plan()), write_session_plan(*live->plan()));
  EXPECT_EQ(live->step(), 3);
}

TEST(SaveSession, ASessionIsCopied) {
  const test::TemporaryFolder folder;
  const std::string place = folder / "runs.db:first";
  ASSERT_TRUE(save_session(*run_at(1000), {place, "test"}).ok());
  const auto saved = RecordedRun::open(parse_session_place(place)).value();
  ASSERT_TRUE(save_session(*saved, {folder / "runs.db:second", "test"}).ok());
  const auto copy = RecordedRun::open(parse_session_place(folder / "runs.db:second")).value();
  EXPECT_EQ(copy->last_known_step(), saved->last_known_step());
  EXPECT_EQ(copy->info().status, SessionStatus::complete);
}

// Request B comes in step 6.
TEST(SaveSession, NamesRequestsThatComeBehindTheStepThatIsShown) {
  const test::TemporaryFolder folder;
  const auto live = run_at(1000);
  ASSERT_TRUE(live->go_to(1).ok());
  ASSERT_TRUE(save_session(*live, {folder / "runs.db:all", "test"}).ok());
  const auto saved = RecordedRun::open(parse_session_place(folder / "runs.db:all")).value();
  EXPECT_EQ(saved->names().request({1}), "B");
}

TEST(SaveSession, ACopySaysOfTheRunWhatTheSessionSaid) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "first"};
  ASSERT_TRUE(test::record_run(test::shipped_scenario("plain_decode"), {.place = place}).ok());
  test::execute(
      place.file,
      "UPDATE sessions SET status = 'stopped', status_reason = 'at step 5', note = 'why', "
      "parent_name = 'root', forked_at = 3; INSERT INTO bookmarks (session, step, note) "
      "SELECT session, 2, 'here' FROM sessions");
  const auto first = RecordedRun::open(place).value();
  ASSERT_TRUE(save_session(*first, {folder / "copies.db:second", "test"}).ok());
  const auto copy = RecordedRun::open(parse_session_place(folder / "copies.db:second")).value();
  EXPECT_EQ(copy->info().status, SessionStatus::stopped);
  EXPECT_EQ(copy->info().status_reason, "at step 5");
  EXPECT_EQ(copy->info().note, "why");
  EXPECT_EQ(copy->info().header.parent_name, "root");
  EXPECT_EQ(copy->info().header.forked_at, 3);
  EXPECT_THAT(copy->bookmarks(), testing::ElementsAre(ShownBookmark{2, "here"}));
}

TEST(SaveSession, ACopyOfASessionThatIsBeingRecordedIsNotCalledComplete) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "first"};
  ASSERT_TRUE(
      test::record_run(test::shipped_scenario("plain_decode"), {.place = place, .finishes = false})
          .ok());
  const auto first = RecordedRun::open(place).value();
  ASSERT_TRUE(save_session(*first, {folder / "copies.db:second", "test"}).ok());
  const auto copy = RecordedRun::open(parse_session_place(folder / "copies.db:second")).value();
  EXPECT_EQ(copy->info().status, SessionStatus::interrupted);
}

TEST(SaveSession, ANameThatIsTakenIsRefused) {
  const test::TemporaryFolder folder;
  const auto live = run_at(2);
  ASSERT_TRUE(save_session(*live, {folder / "runs.db:one", "test"}).ok());
  const Status again = save_session(*live, {folder / "runs.db:one", "test"});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("one"));
}

TEST(ExportReport, IsAPageWithTheKnownSteps) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(export_report(*run_at(3), {folder / "report.html", "test"}).ok());
  EXPECT_THAT(folder.read("report.html"), HasSubstr("align boundary by decode"));
}

std::set<std::string> files_in(const test::TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(FileJob, OneThatIsStoppedLeavesNothing) {
  const test::TemporaryFolder folder;
  const auto live = run_at(1000);
  for (const auto begin : {begin_session_file, begin_report_file}) {
    auto job = begin(*live, {folder / (begin == begin_report_file ? "a.html" : "a.db"), "test"});
    ASSERT_TRUE(job.ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(job.value()->step().value());
    EXPECT_EQ(job.value()->num_done(), 3);
    EXPECT_EQ(job.value()->num_steps(), 8);
    job.value().reset();
    EXPECT_THAT(files_in(folder), testing::IsEmpty());
  }
}

TEST(FileJob, OneThatIsStoppedLeavesOtherSessionsOfTheFile) {
  const test::TemporaryFolder folder;
  const auto live = run_at(1000);
  ASSERT_TRUE(save_session(*live, {folder / "runs.db:first", "test"}).ok());
  auto job = begin_session_file(*live, {folder / "runs.db:second", "test"});
  ASSERT_TRUE(job.value()->step().value());
  job.value().reset();
  const SessionFile file = SessionFile::open(folder / "runs.db", FileAccess::read).value();
  const auto sessions = file.sessions();
  ASSERT_EQ(sessions.value().size(), 1u);
  EXPECT_EQ(sessions.value()[0].header.name, "first");
}

TEST(FileJob, DoesNotNeedTheRunAnyMore) {
  const test::TemporaryFolder folder;
  auto live = run_at(1000);
  auto job = begin_session_file(*live, {folder / "runs.db:all", "test"});
  live.reset();
  ASSERT_TRUE(write(std::move(job)).ok());
  const auto saved = RecordedRun::open(parse_session_place(folder / "runs.db:all")).value();
  EXPECT_EQ(saved->last_known_step(), 8);
  EXPECT_EQ(saved->info().status, SessionStatus::complete);
}

TEST(FileJob, AReportThatCannotBeMadeIsRefusedAtOnce) {
  const test::TemporaryFolder folder;
  const auto job = begin_report_file(*run_at(2), {folder / "none/a.html", "test"});
  ASSERT_FALSE(job.ok());
  EXPECT_THAT(job.error().message, HasSubstr("none/a.html"));
}

TEST(ExportReport, TakesThePlaceOfAnotherReportAndOfNoOtherFile) {
  const test::TemporaryFolder folder;
  folder.write("shift.json", "{}");
  folder.write("page.html", "<p>mine</p>");
  for (const char* name : {"shift.json", "page.html", "new.txt"}) {
    const Status done = export_report(*run_at(3), {folder / name, "test"});
    ASSERT_FALSE(done.ok()) << name;
    EXPECT_THAT(done.error().message, HasSubstr(name));
  }
  EXPECT_EQ(folder.read("shift.json"), "{}");
  EXPECT_EQ(folder.read("page.html"), "<p>mine</p>");
  ASSERT_TRUE(export_report(*run_at(3), {folder / "report.html", "test"}).ok());
  EXPECT_TRUE(export_report(*run_at(4), {folder / "report.html", "test"}).ok());
}

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

}  // namespace hybridscope::file_job_test
