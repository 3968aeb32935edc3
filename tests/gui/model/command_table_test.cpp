#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "gui/model/command_table.h"
#include "gui/model/palette_model.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/made_plan.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/engine_socket.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::command_table_test {
namespace {

using testing::HasSubstr;

const std::string kWeights = HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_lfm2";

class CommandTable : public testing::Test {
 protected:
  CommandTable() : workbench_(test::panels_named({"block_tables", "findings", "lesson", "plan"})) {
    workbench_.memory() = UserMemory::at([this](const char* name) {
                            return std::string(name) == "HOME" ? folder_.path() : std::string();
                          }).value();
  }
  Status apply(const std::string& id, const std::string& argument = {}) {
    const Status done = workbench_.apply({id, argument});
    while (workbench_.is_busy()) workbench_.advance(1000, [&] { return now_us_ += 100'000; });
    return done;
  }
  void must(const std::string& id, const std::string& argument = {}) {
    const Status done = apply(id, argument);
    ASSERT_TRUE(done.ok()) << id << " " << argument << ": " << done.error().message;
  }
  // Makes `row` possible: opens, edits, undoes, compares or begins a lesson.
  void prepare(const CommandRow& row) {
    if (row.needs == CommandNeeds::lesson) {
      must("lesson.open", "align_boundary");
      must("lesson.next");
      return;
    }
    must("file.open", "shipped:align_boundary_by_accepted_drafts");
    if (row.needs == CommandNeeds::finding) {
      must("file.open", "shipped:padded_one_token_prompt");
      must("edit.engine", "reference");
      must("run.end");
    }
    const bool edits = row.needs == CommandNeeds::undo || row.needs == CommandNeeds::redo;
    if (edits) must("edit.accept", "A 1");
    if (row.needs == CommandNeeds::redo) must("edit.undo");
    if (row.needs == CommandNeeds::unsaved) {
      must("edit.accept", "A 1");
      ASSERT_TRUE(workbench_.apply_in_window({"file.close", {}}).ok());
    }
    if (row.needs == CommandNeeds::attached) {
      workbench_.close();
      engine_.emplace(folder_ / "engine");
      workbench_.attach({.place = "unix:" + (folder_ / "engine")});
      engine_->take_client();
      while (!workbench_.attached()->status().is_connected)
        workbench_.advance(1000, [&] { return now_us_ += 100'000; });
    }
    if (row.needs == CommandNeeds::comparison) {
      must("diff.open", "shipped:plain_decode");
      while (!workbench_.comparison()->complete())
        workbench_.advance(1000, [] { return std::int64_t{0}; });
    }
    if (row.id.starts_with("breakpoint.") || row.id == "run.to_breakpoint") {
      must("breakpoint.clear");
      must("breakpoint.add", "finding");
    }
    if (row.needs == CommandNeeds::plan_results)
      must("file.open", test::make_plan_file({.folder = folder_.path()}));
    if (row.id == "run.form") must("run.weights", kWeights);
    if (row.needs == CommandNeeds::bookmark) must("bookmark.add");
    if (row.needs == CommandNeeds::job) begin_long_file();
    if (row.id == "layout.load" || row.id == "layout.remove") must("layout.save", "wide");
  }

  // Has too many steps to be written at once.
  void begin_long_file() {
    must("file.open", test::long_scenario(folder_));
    must("run.end");
    ASSERT_TRUE(workbench_.apply({"file.save_session", folder_ / "long.db"}).ok());
    ASSERT_NE(workbench_.job(), nullptr);
  }

  test::TemporaryFolder folder_;
  std::optional<test::EngineSocket> engine_;
  std::int64_t now_us_ = 0;
  Workbench workbench_;
};

// One that works for each command that takes an argument.
std::map<std::string, std::string, std::less<>> arguments(const test::TemporaryFolder& folder) {
  return {{"file.open", "shipped:plain_decode"},
          {"file.save_session", folder / "runs.db:a"},
          {"file.export_html", folder / "report.html"},
          {"edit.copy_panel", "markdown block_tables"},
          {"panel.export_png", folder / "panel.png"},
          {"edit.accept", "A 2"},
          {"edit.drafts", "A 1"},
          {"edit.preempt", "A"},
          {"edit.abort", "A"},
          {"edit.add_request", "B 8 2"},
          {"edit.budget", "4"},
          {"edit.engine", "reference"},
          {"edit.policy", "row_classing by_shape"},
          {"run.go_to", "2"},
          {"engine.wait", "1"},
          {"run.weights", kWeights},
          {"run.form", "chunked"},
          {"text.token", "2"},
          {"run.speed", "5"},
          {"bookmark.note", "the first copy"},
          {"breakpoint.add", "copy"},
          {"breakpoint.remove", "1"},
          {"breakpoint.toggle", "1"},
          {"select.request", "A"},
          {"select.group", "1"},
          {"select.block", "3"},
          {"select.cell", "A 1 0"},
          {"select.finding", "1"},
          {"block_tables.side", "worker"},
          {"block_tables.cell_size", "24"},
          {"metadata.array", "1 state_indices_tensor_d"},
          {"requests.sort", "blocks"},
          {"timeline.steps", "40"},
          {"view.theme", "light"},
          {"view.scale", "150"},
          {"panel.show", "findings"},
          {"panel.hide", "findings"},
          {"panel.move", "findings block_tables bottom"},
          {"layout.ratio", "0 400"},
          {"layout.save", "wide"},
          {"layout.load", "wide"},
          {"layout.remove", "wide"},
          {"diff.open", "shipped:plain_decode"},
          {"bug.open", "48"},
          {"plan.run", "worst"},
          {"plan.prefer", "hits,steps"},
          {"plan.sort", "hit %"},
          {"plan.select", "mamba_cache_mode=none max_num_seqs=2"},
          {"plan.traffic", folder / "traffic.jsonl"},
          {"diff.go_to", "1"},
          {"bug.filter", "copies"},
          {"diff.filter", "rows"},
          {"lesson.open", "graph_padding"},
          {"lesson.answer", "1 7"}};
}

TEST_F(CommandTable, EveryCommandIsInThePaletteAndCanBeCarriedOut) {
  const auto samples = arguments(folder_);
  for (const CommandRow* row : all_commands()) {
    SCOPED_TRACE(row->id);
    if (row->needs == CommandNeeds::banner) continue;  // Workbench.AFaultIsToldInABanner
    prepare(*row);
    const auto entries = palette_entries(workbench_, row->title);
    const bool found = std::ranges::any_of(
        entries, [&](const PaletteEntry& entry) { return entry.row == row && entry.possible; });
    EXPECT_TRUE(found);
    std::string argument;
    if (!row->argument.empty()) {
      const auto sample = samples.find(row->id);
      ASSERT_NE(sample, samples.end()) << "give it an argument above";
      argument = sample->second;
    }
    const Status done = apply(std::string(row->id), argument);
    EXPECT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(workbench_.banner().empty());
  }
}

TEST_F(CommandTable, IdsAndTitlesAreThereOnce) {
  std::set<std::string_view> ids;
  std::set<std::string> titles;
  for (const CommandRow* row : all_commands()) {
    EXPECT_TRUE(ids.insert(row->id).second) << row->id;
    EXPECT_TRUE(titles.insert(std::string(row->menu) + std::string(row->title)).second) << row->id;
  }
}

TEST_F(CommandTable, AnUnknownCommandIsRefusedWithTheNearestOne) {
  const Status done = apply("run.stp");
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("there is no command \"run.stp\""));
  EXPECT_THAT(done.error().message, HasSubstr("run.step"));
}

TEST_F(CommandTable, WhatIsNotPossibleSaysWhatIsMissing) {
  EXPECT_EQ(apply("run.step").error().message, "Step: nothing is open");
  EXPECT_EQ(apply("edit.undo").error().message, "Undo: nothing was edited");
}

TEST_F(CommandTable, ACommandWithoutItsArgumentAsksForIt) {
  ASSERT_TRUE(apply("file.open").ok());
  EXPECT_EQ(workbench_.view().dialog, Dialog::argument);
  EXPECT_EQ(workbench_.view().dialog_command, "file.open");
}

TEST_F(CommandTable, BadArgumentsAreToldAndChangeNothing) {
  ASSERT_TRUE(apply("file.open", "shipped:align_boundary_by_accepted_drafts").ok());
  EXPECT_EQ(apply("run.go_to", "x").error().message,
            "STEP: expected a whole number from 1 to 1000000000, found \"x\"");
  EXPECT_EQ(apply("select.request", "Z").error().message, "there is no request \"Z\" (so far: A)");
  EXPECT_EQ(apply("select.cell", "A 1").error().message,
            "expected REQUEST GROUP COLUMN, found 2 words");
  EXPECT_THAT(apply("edit.policy", "nope by_shape").error().message, HasSubstr("row_classing, "));
  EXPECT_THAT(apply("edit.accept", "A 9").error().message, HasSubstr("fork at step 2"));
  EXPECT_EQ(workbench_.run()->step(), 1);
  EXPECT_FALSE(workbench_.plans().can_undo());
}

TEST_F(CommandTable, APanelGoesBeforeAnotherAlsoInItsOwnLeaf) {
  must("panel.move", "findings block_tables tab");
  must("panel.move", "lesson block_tables tab");
  must("panel.move", "lesson findings before");
  const std::vector<std::string> first = workbench_.view().layout.panels();
  EXPECT_EQ(first, (std::vector<std::string>{"block_tables", "lesson", "findings"}));
  must("panel.move", "block_tables findings before");
  EXPECT_EQ(workbench_.view().layout.panels(),
            (std::vector<std::string>{"lesson", "block_tables", "findings"}));
}

TEST_F(CommandTable, WhileAFileIsWrittenTheRunCanBeUsedAndEdited) {
  begin_long_file();
  ASSERT_TRUE(workbench_.apply({"run.go_to", "5"}).ok());
  ASSERT_TRUE(workbench_.apply({"edit.budget", "1"}).ok());
  EXPECT_EQ(workbench_.run()->last_known_step(), 5);
  ASSERT_NE(workbench_.job(), nullptr);
  EXPECT_EQ(workbench_.apply({"file.export_html", folder_ / "a.html"}).error().message,
            (folder_ / "long.db") + " is being written: wait for its end, or stop it with Escape");
  EXPECT_FALSE(workbench_.apply({"file.quit", ""}).ok());
  EXPECT_FALSE(workbench_.wants_to_quit());
  while (workbench_.is_busy()) workbench_.advance(1000, [&] { return now_us_ += 500; });
  EXPECT_EQ(workbench_.notice().text, "saved as " + (folder_ / "long.db"));
  must("file.open", folder_ / "long.db");
  EXPECT_GT(workbench_.run()->last_known_step(), 40);
}

TEST_F(CommandTable, AFileThatIsStoppedIsNotThere) {
  begin_long_file();
  const std::string words = progress_words(*workbench_.job());
  EXPECT_THAT(words, HasSubstr("long.db: step 32 of "));
  must("file.stop_writing");
  EXPECT_EQ(workbench_.job(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "long.db"));
  EXPECT_THAT(workbench_.notice().text, HasSubstr("stopped: nothing of"));
}

using testing::ElementsAre;

TEST(CommandArguments, WordsStandBetweenSpacesOrInQuotes) {
  EXPECT_THAT(words_of("A 1  0").value(), ElementsAre("A", "1", "0"));
  EXPECT_THAT(words_of(R"("my request" 1)").value(), ElementsAre("my request", "1"));
  EXPECT_THAT(words_of(R"("" 1)").value(), ElementsAre("", "1"));
  EXPECT_EQ(words_of(R"("never closed)").error().message,
            R"(a quote is not closed in: "never closed)");
  EXPECT_THAT(words_of("  ").value(), ElementsAre());
}

TEST(CommandArguments, AQuoteInQuotesStandsTwice) {
  EXPECT_THAT(words_of(R"("say ""no"" twice" 2)").value(), ElementsAre(R"(say "no" twice)", "2"));
  EXPECT_EQ(quoted_word(R"(say "no")"), R"("say ""no""")");
}

TEST(CommandArguments, EveryNameComesBackFromItsQuotedWord) {
  for (const char* name : {"A", "a b", "", R"(")", R"("")", R"(a"b)", R"("a b")", R"( " )"})
    EXPECT_THAT(words_of(quoted_word(name) + " 7").value(), ElementsAre(name, "7")) << name;
}

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

}  // namespace hybridscope::command_table_test
