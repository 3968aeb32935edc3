// Metadata, graph padding, chunks, requests and timeline: what a click in them does.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gui/keyboard.h"
#include "tests/gui/gui_driver.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::step_panels_test {
namespace {

class StepPanels : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create();
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
  }
  void open(const std::string& scenario, int step, const std::string& panel) {
    driver_->command("file.open " + scenario_path(scenario));
    driver_->command("run.go_to " + std::to_string(step));
    driver_->command("panel.show " + panel);
  }
  Selection selection() const { return driver_->workbench().selection(); }
  const PanelOptions& options() const { return driver_->workbench().options(); }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(StepPanels, AClickOnAnArrayShowsItAsAWholeAndAnotherClosesIt) {
  open("graph_padding", 3, "metadata");
  driver_->click("array -1 seq_lens");
  EXPECT_EQ(options().metadata.array, "seq_lens");
  EXPECT_EQ(options().metadata.group, -1);
  driver_->click("metadata.close");
  EXPECT_EQ(options().metadata.array, "");
}

// Row 1 is B, whose state lies in block 8.
TEST_F(StepPanels, AClickOnAnElementSelectsItsRequestAndBlock) {
  open("graph_padding", 3, "metadata");
  driver_->command("metadata.array 1 state_indices_tensor_d");
  driver_->click("element state_indices_tensor_d 1");
  EXPECT_EQ(selection().request, RequestId{1});
  EXPECT_EQ(selection().block, 8);
}

TEST_F(StepPanels, AClickOnAChunkSelectsItsRequest) {
  open("shared_prefix_all", 3, "chunks");
  driver_->click("chunk 2");
  EXPECT_EQ(selection().request, RequestId{2});
  driver_->click("sequence B");
  EXPECT_EQ(selection().request, RequestId{1});
}

TEST_F(StepPanels, AClickOnARowOfTheTableSelectsTheRequest) {
  open("shared_prefix_all", 3, "requests");
  driver_->click("request C");
  EXPECT_EQ(selection().request, RequestId{2});
  driver_->click("requests.sort blocks");
  EXPECT_EQ(options().requests.sort, "blocks");
}

TEST_F(StepPanels, AClickOnACellOfALaneGoesToTheStepAndSelectsTheRequest) {
  open("shared_prefix_all", 4, "timeline");
  driver_->click("lane C 3");
  EXPECT_EQ(driver_->workbench().run()->step(), 3);
  EXPECT_EQ(selection().request, RequestId{2});
}

TEST_F(StepPanels, FewerStepsAreShownWhenZoomedIn) {
  open("shared_prefix_all", 4, "timeline");
  driver_->click("timeline.closer");
  EXPECT_EQ(options().timeline.num_steps, 14);
}

TEST_F(StepPanels, ABreakpointIsTypedSwitchedOffAndRemoved) {
  open("plain_decode", 1, "breakpoints");
  const auto list = [&]() -> const std::vector<Breakpoint>& {
    return driver_->workbench().breakpoints().list();
  };
  driver_->click("breakpoint field");
  driver_->type("step ==");
  driver_->click("breakpoint.add");
  EXPECT_TRUE(list().empty()) << "it was refused, and stays in the field";
  driver_->click("breakpoint field");
  driver_->press(glfw_key(Key::a), true);
  driver_->type("step == 3");
  driver_->click("breakpoint.add");
  ASSERT_EQ(list().size(), 1U);
  driver_->click("breakpoint on 1");
  EXPECT_FALSE(list()[0].enabled);
  driver_->click("breakpoint remove 1");
  EXPECT_TRUE(list().empty());
}

TEST_F(StepPanels, AKnownBugIsFoundByTheFilterAndOpenedByAClick) {
  open("plain_decode", 1, "known_bugs");
  driver_->click("known bugs filter");
  driver_->type("48");
  EXPECT_EQ(options().known_bugs.filter, "48");
  driver_->frames(2);
  driver_->click("bug skipped-step-forgets-accepted-count");
  EXPECT_EQ(driver_->workbench().run()->title(), "skipped-step-forgets-accepted-count");
}

// Panels about one step, clicked as a person would.

class CopiesAndRows : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({1600, 1200});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
  }
  void open(const std::string& scenario, int step, const std::string& panel) {
    driver_->command("file.open " + scenario_path(scenario));
    driver_->command("run.go_to " + std::to_string(step));
    driver_->command("panel.show " + panel);
    driver_->frames();
  }
  std::string selected() const {
    const RequestId request = driver_->workbench().selection().request;
    return request.value < 0 ? "" : driver_->workbench().run()->names().request(request);
  }

  std::unique_ptr<GuiDriver> driver_;
};

// Two rows of several lines: the second one is whole too.
TEST_F(CopiesAndRows, TheListOfDecisionsIsAsHighAsItsRows) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1920, 1080});
  open("align_boundary_by_accepted_drafts", 3, "state_copies");
  driver_->frames(4);
  const ItemBox list = driver_->marks().at("copy decisions");
  EXPECT_LE(driver_->marks().at("decision A 1").max.y, list.max.y);
}

// "A before forward: same_column, columns 2 -> 2, bias 0" and its reason: a line is 15 pixels high.
TEST_F(CopiesAndRows, ADecisionTakesTwoLinesWhereItsSentencesHaveRoom) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1600, 1000});
  open("preemption_and_resume", 6, "state_copies");
  driver_->frames(4);
  const ItemBox row = driver_->marks().at("decision A 0");
  EXPECT_LT(row.max.y - row.min.y, 40);
}

// At 1280 x 800 the sentence about the step's graph has three lines.
TEST_F(CopiesAndRows, TheWordsAboutTheBatchWrap) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1280, 800});
  open("v2_slots", 4, "batch_rows");
  const ItemBox words = driver_->marks().at("batch words");
  EXPECT_GT(words.max.y - words.min.y, 2 * 15);
}

// The decisions before the forward pass are alike, and fill the list.
TEST_F(CopiesAndRows, InAComparisonTheDecisionThatDiffersIsInView) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1280, 800});
  driver_->command("bug.open backward-copy-suppressed");
  driver_->command("panel.show state_copies");
  driver_->frames(4);
  const ItemBox list = driver_->marks().at("copy decisions");
  const ItemBox row = driver_->marks().at("decision A 1");
  EXPECT_GE(row.min.y, list.min.y);
  EXPECT_LE(row.max.y, list.max.y);
  EXPECT_LT(driver_->marks().at("detail after sampling").min.y,
            driver_->marks().at("detail before forward").min.y);
}

TEST_F(CopiesAndRows, WhatWasSampledWrapsBesideALongName) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1280, 800});
  driver_->command("view.scale 150");
  open("skipped_for_a_step", 3, "speculative");
  const ItemBox words = driver_->marks().at("sample A");
  EXPECT_GT(words.max.y - words.min.y, 2 * 22);
}

// Step 4: C and B copy before the forward pass, A and C after sampling.
TEST_F(CopiesAndRows, AClickOnADecisionSelectsItsRequest) {
  open("v2_slots", 4, "state_copies");
  driver_->click("decision B 1");
  EXPECT_EQ(selected(), "B");
}

TEST_F(CopiesAndRows, AClickOnAColumnOfACopySelectsTheCell) {
  open("align_boundary_by_accepted_drafts", 2, "state_copies");
  driver_->click("copy cell 1");
  const Selection& selection = driver_->workbench().selection();
  EXPECT_EQ(selection.group, 1);
  EXPECT_EQ(selection.column, 1);
  EXPECT_EQ(selection.block, 3);
}

TEST_F(CopiesAndRows, AClickOnARowOfDraftsSelectsItsRequest) {
  open("trimmed_draft_lists", 3, "speculative");
  driver_->click("drafts B");
  EXPECT_EQ(selected(), "B");
}

// Cell 0 of the strip is the state that is read, cell 2 that behind the first draft.
TEST_F(CopiesAndRows, AClickOnAStateOfAStripSelectsItsColumn) {
  open("trimmed_draft_lists", 3, "speculative");
  driver_->click("strip A 2");
  const Selection& selection = driver_->workbench().selection();
  EXPECT_EQ(selected(), "A");
  EXPECT_EQ(selection.column, 2);
  EXPECT_EQ(selection.block, 5);
}

TEST_F(CopiesAndRows, ARowOfTheBatchIsSelectedInTheTableAndOnTheAxis) {
  open("v2_slots", 4, "batch_rows");
  driver_->click("row B");
  EXPECT_EQ(selected(), "B");
  driver_->click("axis A");
  EXPECT_EQ(selected(), "A");
}

// A selection that was made elsewhere is brought into view; stepping leaves lists where they are.

// Requests r0 to r39, each with one token a step once its prompt is there.
std::string many_requests() {
  std::string requests;
  for (int i = 0; i < 40; ++i)
    requests += std::string(i == 0 ? "" : ", ") + R"({"id": "r)" + std::to_string(i) +
                R"(", "prompt": 4, "max_tokens": 6})";
  return R"({"version": 1, "name": "many", "model": "tiny-mamba2",
             "settings": {"mamba_cache_mode": "none", "block_size": 8,
                          "num_gpu_blocks_override": 200, "max_model_len": 64},
             "requests": [)" +
         requests + "]}";
}

class SelectionInView : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create();
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    folder_.write("many.json", many_requests());
    driver_->command("file.open " + (folder_ / "many.json"));
    driver_->command("run.go_to 2");
    driver_->frames(4);
  }
  bool is_seen(const std::string& mark) {
    driver_->frames(4);
    return driver_->marks().contains(mark);
  }

  TemporaryFolder folder_;
  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(SelectionInView, BlockTablesScrollToTheSelectedCell) {
  EXPECT_FALSE(is_seen("cell r38 0 0"));
  driver_->command("select.cell r38 0 0");
  EXPECT_TRUE(is_seen("cell r38 0 0"));
  EXPECT_FALSE(is_seen("cell r0 0 0"));
  driver_->command("run.step");
  EXPECT_TRUE(is_seen("cell r38 0 0"));
}

TEST_F(SelectionInView, TheTimelineScrollsToTheSelectedRequest) {
  driver_->command("panel.show timeline");
  EXPECT_FALSE(is_seen("lane r38 2"));
  driver_->command("select.request r38");
  EXPECT_TRUE(is_seen("lane r38 2"));
  driver_->command("run.step_back");
  EXPECT_TRUE(is_seen("lane r38 1"));
}

TEST_F(SelectionInView, ADoubleClickOnACellAsksWhyItIsThere) {
  driver_->double_click("cell r1 0 0");
  EXPECT_TRUE(driver_->workbench().view().layout.is_active("state_inspector"));
}

// 26 columns of more than 64 pixels in a panel of 720, and 40 rows.
TEST_F(SelectionInView, NamesOfRowsStayAtTheLeftEdgeOfATableThatScrolls) {
  std::string scenario = many_requests();
  const std::string prompt = R"("prompt": 4, "max_tokens": 6)";
  scenario.replace(scenario.find(prompt), prompt.size(), R"("prompt": 200, "max_tokens": 6)");
  scenario.replace(scenario.find(R"(len": 64)"), 8, R"(len": 512)");
  folder_.write("long.json", scenario);
  driver_->command("file.open " + (folder_ / "long.json"));
  driver_->command("run.go_to 2\nblock_tables.cell_size 64\nselect.request r0");
  driver_->frames(4);
  const float left = driver_->marks().at("name r0 0").min.x;
  driver_->command("select.cell r0 0 24");
  driver_->frames(4);
  EXPECT_FALSE(driver_->marks().contains("cell r0 0 0"));
  EXPECT_EQ(driver_->marks().at("name r0 0").min.x, left);
  driver_->click("name r1 0");
  EXPECT_EQ(driver_->workbench().selection().request_name, "r1");
}

// The list is lower than a row of it and the next one: it begins with the selected row's first
// line.
TEST(StateCopiesOfASmallWindow, TheListBeginsWithAWholeRow) {
  const auto driver = GuiDriver::create({1280, 800});
  if (driver == nullptr) GTEST_SKIP() << GuiDriver::reason();
  driver->command("file.open " + scenario_path("async_worked_example"));
  driver->command("run.go_to 3\npanel.show state_copies");
  driver->frames(4);
  for (const std::string request : {"B", "A"}) {
    driver->command("select.request " + request);
    driver->frames(4);
    const ItemBox& list = driver->marks().at("copy decisions");
    const ItemBox& row = driver->marks().at("decision " + request + (request == "B" ? " 0" : " 1"));
    EXPECT_GE(row.min.y, list.min.y) << request;
    EXPECT_LT(row.min.y, list.max.y) << request;
    float first = list.max.y;  // of the rows that are seen, the upper edge of the first
    for (const auto& [name, box] : driver->marks())
      if (name.starts_with("decision ") && box.max.y > list.min.y + 4)
        first = std::min(first, box.min.y);
    EXPECT_NEAR(first, list.min.y, 4) << request << ": the list begins with a part of a row";
  }
}

}  // namespace

}  // namespace hybridscope::test::step_panels_test
