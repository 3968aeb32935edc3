// A selection that was made elsewhere is brought into view; stepping leaves lists where they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/gui/gui_driver.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::selection_in_view_test {
namespace {

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
}  // namespace hybridscope::test::selection_in_view_test
