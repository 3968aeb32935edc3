#include "gui/model/gui_settings.h"
#include "gui/model/layout_tree.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

// The reader of layouts. What it accepts is written and read again, which changes nothing, and its
// leaves and splitters cover a window.

namespace hybridscope::test::layout_target {
namespace {

// Some are not.
bool is_known(std::string_view panel) { return panel.size() % 5 != 0; }

std::int64_t pixels(const LayoutRect& area) { return std::int64_t{area.width} * area.height; }

void cover_a_window(const LayoutTree& tree) {
  const LayoutAreas areas = place_layout(tree, {.x = 0, .y = 0, .width = 1600, .height = 900}, {});
  std::int64_t covered = 0;
  for (const LeafArea& leaf : areas.leaves) covered += pixels(leaf.area);
  for (const SplitterArea& splitter : areas.splitters) covered += pixels(splitter.area);
  expect(covered == (tree.empty() ? 0 : 1600 * 900), "leaves and splitters cover the window");
}

void read(std::string_view text) {
  const auto layout = read_layout(text, "wide.json", is_known);
  note_read(text, layout.ok());
  if (!layout.ok()) return expect_one_line(layout.error().message, "wide.json:");
  for (const std::string& note : layout.value().notes) expect_one_line(note, "wide.json: /");
  const std::string written = layout_to_json(layout.value().tree);
  const auto again = read_layout(written, "wide.json", is_known);
  expect(again.ok(), "what was written can be read", again.ok() ? "" : again.error().message);
  expect(again.value().notes.empty(), "only known panels are written", written);
  expect(again.value().tree == layout.value().tree, "read again it is equal", written);
  cover_a_window(layout.value().tree);
}

}  // namespace
}  // namespace hybridscope::test::layout_target

namespace hybridscope::test {

void fuzz_layout(std::string_view text) { layout_target::read(text); }

}  // namespace hybridscope::test

// The reader of the workbench's settings. What it accepts is written and read again, which changes
// nothing.

namespace hybridscope::test::gui_settings_target {
namespace {

void read(std::string_view text) {
  const auto read = read_gui_settings(text, "settings.json");
  note_read(text, read.ok());
  if (!read.ok()) return expect_one_line(read.error().message, "settings.json:");
  for (const std::string& note : read.value().notes) expect_one_line(note, "settings.json: /");
  const std::string written = settings_to_json(read.value().settings);
  const auto again = read_gui_settings(written, "settings.json");
  expect(again.ok(), "what was written can be read", again.ok() ? "" : again.error().message);
  expect(again.value().notes.empty(), "only known settings are written", written);
  expect(again.value().settings == read.value().settings, "read again they are equal", written);
}

}  // namespace
}  // namespace hybridscope::test::gui_settings_target

namespace hybridscope::test {

void fuzz_gui_settings(std::string_view text) { gui_settings_target::read(text); }

}  // namespace hybridscope::test
