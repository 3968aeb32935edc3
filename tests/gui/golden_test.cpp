// Pictures of panels against those in tests/gui/golden. HYBRIDSCOPE_UPDATE_GOLDEN=1 in the
// environment (scripts/golden sets it) draws these anew.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>

#include "gui/keyboard.h"
#include "gui/surface.h"
#include "tests/gui/gui_driver.h"
#include "tests/gui/image_difference.h"
#include "tests/gui/model/made_plan.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::golden_test {
namespace {

struct GoldenPicture {
  const char* name;                   // of the file, without .png
  const char* panel;                  // alone in the window; empty: all panels
  const char* scenario;               // empty: the start screen; "plan": of make_plan_file
  const char* script;                 // commands
  const char* typed = "";             // into a dialog's field, followed by Enter; "sessions": the
                                      // path of a file with two sessions
  const char* right_clicked = "";     // a mark
  std::optional<Key> with_ctrl = {};  // a key that is pressed
};

void PrintTo(const GoldenPicture& picture, std::ostream* out) { *out << picture.name; }

constexpr GoldenPicture kPictures[] = {
    {"block_tables", "block_tables", "align_boundary_by_accepted_drafts",
     "run.go_to 2\nselect.cell A 1 0"},
    {"block_tables_groups", "block_tables", "several_groups",
     "run.go_to 3\nselect.request A\nview.theme light"},
    {"block_tables_inside", "block_tables", "../tests/gui/data/hits_inside_blocks",
     "run.go_to 2\nselect.cell A 1 2"},
    {"block_tables_checkpoint", "block_tables", "state_inside_a_prefill",
     "run.go_to 2\nselect.request B\nview.theme light"},
    {"batch_rows", "batch_rows", "mixed_gdn_batch", "run.go_to 5\nselect.request B"},
    {"state_copies", "state_copies", "align_boundary_by_accepted_drafts",
     "run.go_to 2\nselect.request A"},
    {"state_copies_of_blocks", "state_copies", "../tests/gui/data/hits_inside_blocks",
     "run.go_to 3\nselect.request A"},
    {"speculative", "speculative", "trimmed_draft_lists", "run.go_to 3\nselect.request A"},
    {"metadata", "metadata", "graph_padding", "run.go_to 3\nselect.request B"},
    {"graph_padding", "graph_padding", "graph_padding", "run.go_to 3\nview.theme light"},
    {"chunks", "chunks", "shared_prefix_all", "run.go_to 3\nselect.request B"},
    {"physical_blocks", "physical_blocks", "eviction_under_pressure",
     "run.go_to 6\nselect.block 3\nview.theme high_contrast"},
    {"timeline", "timeline", "async_worked_example", "run.end\nrun.go_to 3\nselect.request A"},
    {"requests", "requests", "shared_prefix_all", "run.go_to 4\nselect.request C"},
    {"prefix_cache", "prefix_cache", "multi_turn_with_drafts", "run.go_to 6"},
    {"prefix_cache_retention", "prefix_cache", "state_inside_a_prefill",
     "run.go_to 3\nselect.request B"},
    {"next_step", "next_step", "plain_decode", "run.go_to 2\nedit.engine vllm-0.26.0"},
    {"why_is_this_here", "state_inspector", "align_boundary_by_accepted_drafts",
     "run.go_to 2\nselect.cell A 1 0"},
    {"comparison", "block_tables", "align_boundary_by_accepted_drafts",
     "edit.accept A 1\ndiff.before_edit\nrun.go_to 3\nselect.request A"},
    {"findings", "findings", "prompt_as_long_as_a_verify_window", "edit.engine reference\nrun.end"},
    {"known_bugs", "known_bugs", "plain_decode", "bug.open 48\nview.theme light"},
    {"text", "text", "../tests/gui/data/speaking",
     "run.weights " HYBRIDSCOPE_SOURCE_DIR
     "/tests/golden/numeric/model_qwen3_5_text\nrun.end\nrun.go_to 4\nselect.request A"},
    {"heat_map", "heat_map", "../tests/gui/data/speaking",
     "run.weights " HYBRIDSCOPE_SOURCE_DIR
     "/tests/golden/numeric/model_qwen3_5_text\nrun.go_to 4\nselect.block 4\nview.theme light"},
    {"plan", "plan", "plan", "plan.select mamba_cache_mode=align max_num_seqs=4"},
    {"start_screen", "", "", ""},
    {"dialog_keys", "requests", "plain_decode", "help.keys"},
    {"dialog_palette", "requests", "plain_decode", "help.palette"},
    {"dialog_argument", "requests", "plain_decode", "run.go_to"},
    {"dialog_argument_refused", "requests", "plain_decode", "breakpoint.add", "step >"},
    {"dialog_sessions", "requests", "plain_decode", "view.theme light\nfile.open", "sessions"},
    {"dialog_unsaved", "requests", "align_boundary_by_accepted_drafts", "edit.accept A 1", "", "",
     Key::w},
    {"tab_menu", "requests", "plain_decode", "", "", "tab requests"},
};

std::string name_of(const testing::TestParamInfo<GoldenPicture>& info) { return info.param.name; }

class Golden : public testing::TestWithParam<GoldenPicture> {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({760, 480});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->frames(1);
    if (driver_->look().fonts.source != "DejaVu")
      GTEST_SKIP() << "the pictures are of DejaVu, this is drawn with "
                   << driver_->look().fonts.source;
    if (opengl_words().find("llvmpipe") == std::string::npos)
      GTEST_SKIP() << "the pictures are by llvmpipe, this is drawn by " << opengl_words();
  }

  Image draw(const GoldenPicture& picture) {
    const std::string scenario = picture.scenario;
    if (picture.typed == std::string("sessions")) record_sessions();
    if (scenario.empty())
      fill_start_screen();
    else
      driver_->command("file.open " + (scenario == "plan" ? plan_file() : scenario_path(scenario)));
    // Not all panels: one more should not make another picture.
    if (picture.name == std::string("dialog_palette")) driver_->workbench().view().panels.resize(9);
    driver_->command(picture.script);
    if (*picture.panel != '\0')
      driver_->workbench().view().layout = LayoutTree::leaf({picture.panel});
    driver_->frames(3);
    if (const std::string typed = picture.typed; !typed.empty()) {
      driver_->type(typed == "sessions" ? sessions_ : typed);
      driver_->press(glfw_key(Key::enter));
    }
    if (picture.with_ctrl) driver_->press(glfw_key(*picture.with_ctrl), true);
    if (*picture.right_clicked != '\0') driver_->right_click(picture.right_clicked);
    driver_->frames(3);
    return driver_->picture();
  }

  std::string plan_file() const { return make_plan_file({.folder = folder_.path()}); }

  void record_sessions() {
    sessions_ = folder_ / "runs.db";
    driver_->command("file.open " + scenario_path("plain_decode"));
    driver_->command("run.end");
    for (const char* name : {"before", "after the change of the scheduler"})
      driver_->command(fmt::format("file.save_session {}:{}", sessions_, name));
  }

  // Not what is shipped: a scenario more should not make another picture.
  void fill_start_screen() {
    StartScreen& start = driver_->workbench().start();
    start.lessons = {{"Block tables", "What a column of a block table holds in each group.", "a"}};
    start.scenarios = {{"graph padding", "Three decodes replay a graph of four rows.", "b"}};
    start.known_bugs = {{"a count is left behind", "No. 48; V1: open; V2: -", "c"}};
    start.recent = {{"before", "", "runs.db:before"}};
  }

  TemporaryFolder folder_;
  std::string sessions_;
  std::unique_ptr<GuiDriver> driver_;
};

TEST_P(Golden, PictureIsAsItWas) {
  const std::string name = GetParam().name;
  const std::string kept = fmt::format("{}/tests/gui/golden/{}.png", HYBRIDSCOPE_SOURCE_DIR, name);
  const Image actual = draw(GetParam());
  const char* update = std::getenv("HYBRIDSCOPE_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    const Status written = write_png(actual, kept);
    ASSERT_TRUE(written.ok()) << written.error().message;
    return;
  }
  const auto expected = read_png(kept);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const ImageDifference difference = difference_of(expected.value(), actual, {});
  if (difference.words.empty()) return;
  const std::string folder = HYBRIDSCOPE_PICTURES_DIR;
  std::filesystem::create_directories(folder);
  const std::string drawn = fmt::format("{}/{}.png", folder, name);
  const std::string marked = fmt::format("{}/{}_difference.png", folder, name);
  ASSERT_TRUE(write_png(actual, drawn).ok());
  ASSERT_TRUE(write_png(difference.marked, marked).ok());
  FAIL() << kept << ": " << difference.words << "\ndrawn now: " << drawn
         << "\ndifferences in red: " << marked << "\nif the new one is right: scripts/golden "
         << name;
}

INSTANTIATE_TEST_SUITE_P(Panels, Golden, testing::ValuesIn(kPictures), name_of);

struct Pixel {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
};

Image plain(PixelSize size, Pixel colour) {
  Image image{.size = size, .rgba = {}};
  for (int i = 0; i < size.width * size.height; ++i)
    image.rgba.insert(image.rgba.end(), {colour.r, colour.g, colour.b, 255});
  return image;
}

// A picture of 40x40 in grey with a block of another colour.
struct Block {
  int x = 0;
  int y = 0;
  int width = 1;
  int height = 1;
  Pixel colour;
};
Image grey_with(const Block& block) {
  Image image = plain({40, 40}, {100, 100, 100});
  for (int y = block.y; y < block.y + block.height; ++y)
    for (int x = block.x; x < block.x + block.width; ++x) {
      const auto at = static_cast<std::size_t>((y * 40 + x) * 4);
      image.rgba[at] = block.colour.r;
      image.rgba[at + 1] = block.colour.g;
      image.rgba[at + 2] = block.colour.b;
    }
  return image;
}

constexpr Pixel kBlue{0, 0, 255};
const ImageTolerance kTolerance;

std::string difference(const Image& expected, const Image& actual) {
  return difference_of(expected, actual, kTolerance).words;
}

TEST(ImageDifference, EqualPicturesDoNotDiffer) {
  EXPECT_EQ(difference(plain({3, 2}, kBlue), plain({3, 2}, kBlue)), "");
}

TEST(ImageDifference, AnotherSizeIsTold) {
  EXPECT_EQ(difference(plain({3, 2}, kBlue), plain({2, 3}, kBlue)),
            "expected 3x2 pixels, found 2x3");
}

// Edges drawn by another version: every pixel by 6, or 8 pixels of a square by any amount.
TEST(ImageDifference, SlightChangesEverywhereAndFewStrongOnesPass) {
  EXPECT_EQ(difference(plain({40, 40}, {100, 100, 100}), plain({40, 40}, {106, 94, 100})), "");
  EXPECT_EQ(difference(plain({40, 40}, {100, 100, 100}),
                       grey_with({.x = 4, .y = 4, .width = 8, .colour = kBlue})),
            "");
}

// Of a changed element's corner: 3x3 pixels.
TEST(ImageDifference, AMissingMarkIsFound) {
  EXPECT_EQ(difference(grey_with({.x = 17, .y = 33, .width = 3, .height = 3, .colour = kBlue}),
                       plain({40, 40}, {100, 100, 100})),
            "squares of 16x16 with more than 8 other pixels: 1, the first at 16, 32");
}

TEST(ImageDifference, AMovedColumnIsFound) {
  const auto column_at = [](int x) {
    return grey_with({.x = x, .y = 0, .width = 4, .height = 40, .colour = kBlue});
  };
  EXPECT_EQ(difference(column_at(4), column_at(5)),
            "squares of 16x16 with more than 8 other pixels: 3, the first at 0, 0");
}

// 7 is less than is seen in one pixel, but 40 of 1600 pixels have it.
TEST(ImageDifference, AnAreaOfASlightlyOtherColourIsFound) {
  EXPECT_EQ(difference(plain({40, 40}, {100, 100, 100}),
                       grey_with({.x = 0, .y = 0, .width = 40, .colour = {100, 107, 100}})),
            "2.5 % of the pixels are not the same, 1.0 % may");
}

TEST(ImageDifference, WhatDiffersIsRedOnThePalePicture) {
  const Image marked =
      difference_of(plain({1, 2}, {100, 100, 100}),
                    {.size = {1, 2}, .rgba = {100, 100, 100, 255, 200, 100, 100, 255}}, kTolerance)
          .marked;
  EXPECT_EQ(marked.rgba, (std::vector<std::uint8_t>{185, 185, 185, 255, 255, 0, 0, 255}));
}

}  // namespace

}  // namespace hybridscope::test::golden_test
