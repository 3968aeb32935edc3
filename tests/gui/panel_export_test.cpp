// Panels to the clipboard and into pictures, as a person does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "gui/keyboard.h"
#include "gui/model/panel_infos.h"
#include "tests/gui/gui_driver.h"
#include "tests/gui/read_png.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::panel_export_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::test::panel_export_test
