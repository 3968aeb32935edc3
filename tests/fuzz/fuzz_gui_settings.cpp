// The reader of the workbench's settings. What it accepts is written and read again, which changes
// nothing.
#include "gui/model/gui_settings.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

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
