// Every panel, alone in the window, on everything that is shipped.

#include <backends/imgui_impl_opengl3.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/result.h"
#include "gui/keyboard.h"
#include "gui/model/panel_infos.h"
#include "gui/panels/panels.h"
#include "sessions/lessons/lesson.h"
#include "tests/gui/gui_driver.h"
#include "tests/gui/image_difference.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::every_panel_test {
namespace {

// Ten letters.
constexpr int kFewestVertices = 40;

// Of everything, in percent.
class EveryPanel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({740, 560});  // what a panel has of a window of 1280x800
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->leave_pixels_out();
    driver_->command(fmt::format("view.scale {}", GetParam()));
  }
  Workbench& workbench() { return driver_->workbench(); }

  void draw_each_panel() {
    const bool before_the_first_step = !workbench().has_step();
    ASSERT_TRUE(!before_the_first_step || workbench().lesson() != nullptr);
    for (const PanelInfo& panel : panel_infos()) {
      SCOPED_TRACE(fmt::format("panel {}, step {}", panel.id, workbench().run()->step()));
      workbench().view().layout = LayoutTree::leaf({std::string(panel.id)});
      // Scrollbars that come in one frame change widths in the next.
      for (int i = 0; i < 8 && (i < 2 || !drawn_panels().clipped.empty()); ++i) driver_->frames(1);
      expect_drawn(panel);
    }
  }

  void expect_drawn(const PanelInfo& panel) {
    EXPECT_EQ(workbench().banner(), "");
    EXPECT_NE(workbench().notice().kind, NoticeKind::error) << workbench().notice().text;
    EXPECT_TRUE(driver_->marks().contains(fmt::format("panel {}", panel.id)));
    const DrawnPanel drawn = drawn_panels();
    EXPECT_GE(drawn.vertices, kFewestVertices);
    EXPECT_TRUE(drawn.clipped.empty()) << drawn.clipped.front();
  }

  // The right answers, in the words of the author.
  void answer_all(const std::vector<LessonQuestion>& questions) {
    for (std::size_t i = 0; i < questions.size(); ++i)
      driver_->command(fmt::format("lesson.answer {} {}", i + 1, questions[i].answer));
  }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_P(EveryPanel, IsDrawnInTheFirstAMiddleAndTheLastStepOfEveryShippedScenario) {
  for (const std::string& path : shipped_scenarios()) {
    SCOPED_TRACE(path);
    driver_->command("file.open " + path);
    driver_->command("run.end");
    const std::int64_t last = workbench().run()->step();
    for (const std::int64_t step : {std::int64_t{1}, (last + 1) / 2, last}) {
      driver_->command(fmt::format("run.go_to {}", step));
      draw_each_panel();
    }
  }
}

// Before and after its questions are answered, where a part asks before it shows its step.
// At the larger scale of every third lesson.
TEST_P(EveryPanel, IsDrawnInEveryPartOfEveryShippedLesson) {
  const std::size_t every = GetParam() == 100 ? 1 : 3;
  std::size_t number = 0;
  for (const std::string_view name : shipped_lesson_names()) {
    if (number++ % every != 0) continue;
    driver_->command(fmt::format("lesson.open {}", name));
    const std::size_t parts = workbench().lesson()->lesson().parts.size();
    for (std::size_t part = 0; part < parts; ++part) {
      SCOPED_TRACE(fmt::format("lesson {}, part {}", name, part + 1));
      ASSERT_EQ(workbench().lesson()->part_index(), part);
      draw_each_panel();
      answer_all(workbench().lesson()->part().questions);
      draw_each_panel();
      driver_->command("lesson.next");
    }
    EXPECT_EQ(workbench().lesson()->num_right(), workbench().lesson()->num_questions());
  }
}

INSTANTIATE_TEST_SUITE_P(Scale, EveryPanel, testing::Values(100, 200),
                         testing::PrintToStringParamName());

// Panels to the clipboard and into pictures, as a person does it.

using testing::HasSubstr;
using testing::StartsWith;

class PanelExport : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create();
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->command("file.open " + scenario_path("align_boundary_by_accepted_drafts"));
    driver_->command("run.go_to 2");
  }
  const std::string& notice() const { return driver_->workbench().notice().text; }
  std::string_view focused() const { return driver_->workbench().view().panel_in_focus()->id; }

  TemporaryFolder folder_;
  std::unique_ptr<GuiDriver> driver_;
};

// The working folder for as long as it lives.
struct InFolder {
  explicit InFolder(const std::string& folder) { std::filesystem::current_path(folder); }
  ~InFolder() { std::filesystem::current_path(before); }
  std::filesystem::path before = std::filesystem::current_path();
};

TEST(PanelContents, EveryPanelOfTheTableHasOne) {
  for (const PanelInfo& panel : panel_infos()) EXPECT_NE(panel.make, nullptr) << panel.id;
}

TEST_F(PanelExport, TheMenuOfATabCopiesItsPanel) {
  driver_->right_click("tab requests");
  driver_->click("tab menu Copy as Markdown");
  EXPECT_THAT(driver_->clipboard(), StartsWith("## Requests\n"));
  EXPECT_EQ(notice(), "Copied: Requests as Markdown, 1 row");
  driver_->right_click("tab block_tables");
  driver_->click("tab menu Copy as JSON");
  EXPECT_THAT(driver_->clipboard(), HasSubstr("\"panel\": \"block_tables\""));
  driver_->right_click("tab block_tables");
  driver_->click("tab menu Copy as text");
  EXPECT_THAT(driver_->clipboard(), StartsWith("Block tables\n"));
}

TEST_F(PanelExport, TheMenuOfATabClosesItsPanel) {
  driver_->right_click("tab requests");
  driver_->click("tab menu Close");
  EXPECT_FALSE(driver_->workbench().view().layout.leaf_of("requests").has_value());
}

TEST_F(PanelExport, TheKeyCopiesThePanelThatWasClickedLast) {
  EXPECT_EQ(focused(), "block_tables");
  driver_->click("panel explanation");
  EXPECT_EQ(focused(), "explanation");
  driver_->press(glfw_key(Key::c), true);
  EXPECT_THAT(driver_->clipboard(), StartsWith("Step in words\n"));
  driver_->click("tab requests");
  EXPECT_EQ(focused(), "requests");
  driver_->press(glfw_key(Key::c), true, true);
  EXPECT_THAT(driver_->clipboard(), StartsWith("## Requests\n"));
}

TEST_F(PanelExport, AClickThatSelectsFocusesAsWell) {
  driver_->click("decision A 0");
  EXPECT_EQ(focused(), "state_copies");
  EXPECT_EQ(driver_->workbench().selection().request, RequestId{0});
}

TEST_F(PanelExport, InATextFieldTheKeyIsTheFields) {
  driver_->command("panel.show breakpoints");
  driver_->click("breakpoint field");
  driver_->type("finding");
  driver_->press(glfw_key(Key::a), true);
  driver_->press(glfw_key(Key::c), true);
  EXPECT_EQ(driver_->clipboard(), "finding");
}

TEST_F(PanelExport, APictureIsWhatTheWindowShowsInThePanel) {
  const std::string path = folder_ / "panel.png";
  driver_->command("panel.export_png " + path + " requests");
  driver_->frames(4);
  const auto image = read_png(path);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_THAT(notice(), StartsWith("Exported: Requests as " + path));
  const Image window = driver_->picture();
  const ItemBox box = driver_->marks().find("panel requests")->second;
  const PixelRect rect{.x = static_cast<std::int32_t>(box.min.x),
                       .y = static_cast<std::int32_t>(box.min.y),
                       .width = static_cast<std::int32_t>(box.max.x - box.min.x),
                       .height = static_cast<std::int32_t>(box.max.y - box.min.y)};
  EXPECT_EQ(image.value().size, (PixelSize{rect.width, rect.height}));
  EXPECT_TRUE(image.value().rgba == cut_out(window, rect).rgba);
}

TEST_F(PanelExport, NoTooltipIsInAPicture) {
  driver_->command("panel.export_png " + (folder_ / "before.png") + " block_tables");
  driver_->frames(4);
  driver_->hover("cell A 1 0");
  driver_->command("panel.export_png " + (folder_ / "pointed.png") + " block_tables");
  driver_->frames(4);
  EXPECT_TRUE(read_png(folder_ / "before.png").value().rgba ==
              read_png(folder_ / "pointed.png").value().rgba);
}

TEST_F(PanelExport, TheMenuAsksForTheNameOfThePicture) {
  const InFolder here(folder_.path());  // where the suggested name leads
  driver_->right_click("tab physical_blocks");
  driver_->click("tab menu Export as PNG...");
  ASSERT_EQ(driver_->workbench().view().dialog, Dialog::argument);
  driver_->frames();  // until the field has the keyboard
  driver_->press(glfw_key(Key::enter));
  EXPECT_EQ(driver_->workbench().view().dialog, Dialog::none);
  driver_->frames(4);
  EXPECT_TRUE(read_png("physical_blocks-step-2.png").ok());
}

TEST_F(PanelExport, AFileThatCannotBeWrittenIsNamedAndNothingIsLeft) {
  const std::string path = folder_ / "panel.png";
  std::filesystem::create_directory(path);
  driver_->command("panel.export_png " + path);
  driver_->frames(4);
  EXPECT_EQ(driver_->workbench().notice().kind, NoticeKind::error);
  EXPECT_THAT(notice(), StartsWith("cannot write " + path + ": "));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

// Faults of the program while it draws.

class FaultGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({640, 400});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->command("file.open " + scenario_path("align_boundary_by_decode"));
    driver_->frames();
  }

  // A frame of its own with a window in which the guard draws, and a word behind it. ImGui's own
  // checks end the program when something was left open.
  bool frame(FaultGuard& guard, const std::function<void()>& draw) {
    ImGui_ImplOpenGL3_NewFrame();
    driver_->surface().begin_frame();
    ImGui::NewFrame();
    ImGui::Begin("window", nullptr, ImGuiWindowFlags_MenuBar);
    const bool drawn = guard.draw(driver_->workbench(), draw);
    ImGui::TextUnformatted("behind");
    ImGui::End();
    ImGui::Render();
    return drawn;
  }

  std::unique_ptr<GuiDriver> driver_;
};

void fail() { HS_EXPECT(1 + 1 == 3); }

TEST_F(FaultGuardTest, AFaultIsToldInTheBannerAndTheRunIsKept) {
  FaultGuard guard;
  EXPECT_FALSE(frame(guard, fail));
  EXPECT_NE(driver_->workbench().banner().find("1 + 1 == 3"), std::string::npos);
  EXPECT_EQ(driver_->workbench().run()->step(), 1);
  driver_->frames();
}

TEST_F(FaultGuardTest, WhatWasLeftOpenIsClosed) {
  FaultGuard in_menu;
  EXPECT_FALSE(frame(in_menu, [] {
    ImGui::BeginMenuBar();
    ImGui::BeginMenu("File");
    fail();
  }));
  FaultGuard in_table;
  EXPECT_FALSE(frame(in_table, [] {
    ImGui::BeginChild("child");
    ImGui::PushID(7);
    ImGui::PushStyleColor(ImGuiCol_Text, IM_COL32_WHITE);
    ImGui::BeginTable("table", 2);
    ImGui::TableNextColumn();
    fail();
  }));
  FaultGuard in_dialog;
  EXPECT_FALSE(frame(in_dialog, [] {
    ImGui::Begin("dialog");
    ImGui::BeginTooltip();
    fail();
  }));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(frame(in_menu = {}, [] { ImGui::TextUnformatted("x"); }));
}

TEST_F(FaultGuardTest, ItIsTriedAgainWhenAnotherStepIsShown) {
  FaultGuard guard;
  int tried = 0;
  const auto draw = [&] {
    ++tried;
    fail();
  };
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(frame(guard, draw));
  EXPECT_EQ(tried, 1) << "not in each frame";
  driver_->command("run.step");
  EXPECT_FALSE(frame(guard, draw));
  EXPECT_EQ(tried, 2);
}

}  // namespace

}  // namespace hybridscope::test::every_panel_test
