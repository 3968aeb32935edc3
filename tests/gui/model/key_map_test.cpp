#include "gui/model/palette_model.h"

#include <gtest/gtest.h>

namespace hybridscope::key_map_test {
namespace {

std::string_view command_of(std::string_view key) {
  const CommandRow* row = KeyMap().find(read_key_chord(key).value());
  return row == nullptr ? "" : row->id;
}

// The constructor of a KeyMap breaks its contract when two commands share a key or one cannot be
// read.
TEST(KeyMap, EveryKeyOfTheTableIsReadAndMeansOneCommand) {
  const KeyMap keys;
  for (const CommandRow* row : all_commands()) {
    const auto chords = read_key_chords(row->keys);
    ASSERT_TRUE(chords.ok()) << row->keys;
    for (const KeyChord& chord : chords.value()) EXPECT_EQ(keys.find(chord), row) << to_text(chord);
  }
}

TEST(KeyMap, UsualKeysMeanWhatPeopleExpect) {
  EXPECT_EQ(command_of("Space"), "run.play");
  EXPECT_EQ(command_of("Right"), "run.step");
  EXPECT_EQ(command_of("Left"), "run.step_back");
  EXPECT_EQ(command_of("Ctrl+Z"), "edit.undo");
  EXPECT_EQ(command_of("Ctrl+C"), "edit.copy_text");
  EXPECT_EQ(command_of("Ctrl+Shift+P"), "help.palette");
  EXPECT_EQ(command_of("F1"), "help.palette");
  EXPECT_EQ(command_of("?"), "help.keys");
  EXPECT_EQ(command_of("Ctrl++"), "view.scale_up");
  EXPECT_EQ(command_of("Ctrl+0"), "view.scale_reset");
  EXPECT_EQ(command_of("Ctrl+J"), "");
}

}  // namespace
}  // namespace hybridscope::key_map_test
