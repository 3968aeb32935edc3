#include "gui/model/key_chord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gui/model/command_table.h"

namespace hybridscope::key_chord_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ChordText {
  KeyChord chord;
  const char* text;
};

TEST(KeyChord, HasATextThatIsReadAsTheSame) {
  const ChordText rows[] = {
      {{.key = Key::p, .ctrl = true, .shift = true}, "Ctrl+Shift+P"},
      {{.key = Key::f8}, "F8"},
      {{.key = Key::f12, .alt = true}, "Alt+F12"},
      {{.key = Key::digit_0, .ctrl = true}, "Ctrl+0"},
      {{.key = Key::slash}, "/"},
      {{.key = Key::slash, .shift = true}, "?"},
      {{.key = Key::slash, .ctrl = true, .shift = true, .alt = true}, "Ctrl+Alt+?"},
      {{.key = Key::equal, .ctrl = true}, "Ctrl+="},
      {{.key = Key::equal, .ctrl = true, .shift = true}, "Ctrl++"},
      {{.key = Key::equal, .shift = true}, "+"},
      {{.key = Key::minus, .ctrl = true}, "Ctrl+-"},
      {{.key = Key::page_up, .ctrl = true, .shift = true, .alt = true}, "Ctrl+Shift+Alt+PageUp"},
      {{.key = Key::comma, .shift = true}, "Shift+,"},
      {{.key = Key::del}, "Delete"},
      {{.key = Key::grave}, "`"}};
  for (const ChordText& row : rows) {
    EXPECT_EQ(to_text(row.chord), row.text);
    const auto read = read_key_chord(row.text);
    ASSERT_TRUE(read.ok()) << row.text;
    EXPECT_EQ(read.value(), row.chord) << row.text;
  }
}

// People write them into settings and scripts.
TEST(KeyChord, NamesOfKeysStay) {
  std::string names;
  for (std::size_t key = 0; key < kNumKeys; ++key)
    names += to_text({.key = static_cast<Key>(key)}) + " ";
  EXPECT_EQ(names,
            "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z 0 1 2 3 4 5 6 7 8 9 "
            "F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 "
            "Left Right Up Down Home End PageUp PageDown "
            "Space Enter Escape Tab Backspace Delete Insert , . / - = [ ] ` ' ; ");
}

TEST(KeyChord, OfACharacterIsTheKeyThatIsWrittenSo) {
  EXPECT_EQ(chord_of_character('a'), (KeyChord{.key = Key::a}));
  EXPECT_EQ(chord_of_character('A'), (KeyChord{.key = Key::a}));
  EXPECT_EQ(chord_of_character('?'), (KeyChord{.key = Key::slash, .shift = true}));
  EXPECT_EQ(chord_of_character('+'), (KeyChord{.key = Key::equal, .shift = true}));
  EXPECT_EQ(chord_of_character('['), (KeyChord{.key = Key::left_bracket}));
  EXPECT_EQ(chord_of_character(' '), std::nullopt);
  EXPECT_EQ(chord_of_character('_'), std::nullopt);
  EXPECT_EQ(chord_of_character(0xE4), std::nullopt);
}

// 73 keys with eight sets of modifiers each.
TEST(KeyChord, AllTextsDifferAndAreReadAsWhatTheyWereMadeFrom) {
  std::set<std::string> texts;
  for (std::size_t key = 0; key < kNumKeys; ++key)
    for (int flags = 0; flags < 8; ++flags) {
      const KeyChord chord{.key = static_cast<Key>(key),
                           .ctrl = (flags & 1) != 0,
                           .shift = (flags & 2) != 0,
                           .alt = (flags & 4) != 0};
      const std::string text = to_text(chord);
      EXPECT_TRUE(texts.insert(text).second) << text;
      const auto read = read_key_chord(text);
      ASSERT_TRUE(read.ok()) << text;
      EXPECT_EQ(read.value(), chord) << text;
    }
  EXPECT_EQ(texts.size(), 73U * 8);
}

TEST(KeyChord, CaseAndTheOrderOfModifiersDoNotMatter) {
  const KeyChord chord{.key = Key::p, .ctrl = true, .shift = true};
  EXPECT_EQ(read_key_chord("shift+CTRL+p").value(), chord);
  EXPECT_EQ(read_key_chord("pagedown").value(), KeyChord{.key = Key::page_down});
  EXPECT_EQ(read_key_chord("p").value(), KeyChord{.key = Key::p});
}

TEST(KeyChord, ShiftWithSlashIsAQuestionMark) {
  EXPECT_EQ(to_text(read_key_chord("Ctrl+Shift+/").value()), "Ctrl+?");
  EXPECT_EQ(to_text(read_key_chord("Shift+=").value()), "+");
}

TEST(KeyChord, WhatIsNoChordIsRefusedWithWhatWasFoundAndExpected) {
  const std::string no_key =
      " (expected a letter, a digit, F1 to F12, a sign such as \"?\" or a name such as PageUp)";
  const std::pair<const char*, std::string> rows[] = {
      {"", "keys \"\": there is no key \"\"" + no_key},
      {"F13", "keys \"F13\": there is no key \"F13\"" + no_key},
      {"Ctrl+Foo", "keys \"Ctrl+Foo\": there is no key \"Foo\"" + no_key},
      {"Ctrl", "keys \"Ctrl\": there is no key \"Ctrl\"" + no_key},
      {"Ctrl P", "keys \"Ctrl P\": there is no key \"Ctrl P\"" + no_key},
      {"Cmd+P", "keys \"Cmd+P\": there is no modifier \"Cmd\" (expected Ctrl, Shift or Alt)"},
      {"Ctrl++P", "keys \"Ctrl++P\": there is no modifier \"\" (expected Ctrl, Shift or Alt)"},
      {"Ctrl+ctrl+P", "keys \"Ctrl+ctrl+P\": Ctrl is in it twice (expected once)"},
      {"Shift+?", "keys \"Shift+?\": Shift is in it twice (expected once)"}};
  for (const auto& [text, message] : rows) {
    const auto read = read_key_chord(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().message, message);
  }
}

TEST(KeyChords, StandWithSpacesBetween) {
  EXPECT_THAT(read_key_chords(" Space  F5 ").value(),
              ElementsAre(KeyChord{.key = Key::space}, KeyChord{.key = Key::f5}));
  EXPECT_THAT(read_key_chords("").value(), IsEmpty());
  EXPECT_FALSE(read_key_chords("Space F55").ok());
}

TEST(CommandKeys, AreChordsAndNoTwoCommandsShareOne) {
  std::set<std::string> seen;
  for (const CommandRow* row : all_commands()) {
    const auto chords = read_key_chords(row->keys);
    ASSERT_TRUE(chords.ok()) << row->id << ": " << chords.error().message;
    for (const KeyChord& chord : chords.value())
      EXPECT_TRUE(seen.insert(to_text(chord)).second) << row->id << ": " << to_text(chord);
  }
}

}  // namespace
}  // namespace hybridscope::key_chord_test
