#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gui/model/command_table.h"
#include "gui/model/key_chord.h"
#include "gui/model/palette_model.h"

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

std::vector<std::size_t> places(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  return match ? match->positions : std::vector<std::size_t>{};
}

std::int32_t score(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  return match ? match->score : -1;
}

TEST(FuzzyMatch, CharactersComeInTheirOrderAnywhere) {
  EXPECT_THAT(places("gr", "Go to request"), ElementsAre(0, 6));
  EXPECT_THAT(places("stp", "Step back"), ElementsAre(0, 1, 3));
  EXPECT_EQ(fuzzy_match("rg", "Go to request"), std::nullopt);
  EXPECT_EQ(fuzzy_match("steps", "Step"), std::nullopt);
  EXPECT_EQ(fuzzy_match("tt", "Step"), std::nullopt);
}

TEST(FuzzyMatch, CaseAndSpacesOfTheQueryDoNotCount) {
  EXPECT_EQ(fuzzy_match("GO TO", "Go to step"), fuzzy_match("goto", "Go to step"));
  EXPECT_EQ(fuzzy_match("goto", "GO TO STEP"), fuzzy_match("goto", "Go to step"));
}

TEST(FuzzyMatch, AnEmptyQueryMatchesEverything) {
  EXPECT_EQ(fuzzy_match("", "Step"), FuzzyMatch{.kind = MatchKind::begins});
  EXPECT_EQ(fuzzy_match("  ", ""), FuzzyMatch{.kind = MatchKind::begins});
  EXPECT_EQ(fuzzy_match("s", ""), std::nullopt);
}

MatchKind kind(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  EXPECT_TRUE(match.has_value());
  return match ? match->kind : MatchKind::scattered;
}

TEST(FuzzyMatch, TheKindSaysHowWellTheyAgree) {
  EXPECT_EQ(kind("go to step", "Go to step"), MatchKind::whole);
  EXPECT_EQ(kind(" go t ", "Go to step"), MatchKind::begins);
  EXPECT_EQ(kind("goto", "Go to step"), MatchKind::begins);
  EXPECT_EQ(kind("step", "Go to step"), MatchKind::words);
  EXPECT_EQ(kind("go st", "Go to step"), MatchKind::words);
  EXPECT_EQ(kind("cop", "state_copies"), MatchKind::words);
  EXPECT_EQ(kind("tep", "Go to step"), MatchKind::inside);
  EXPECT_EQ(kind("gts", "Go to step"), MatchKind::scattered);
}

// 1 a character, 8 at the start of the title, 6 at that of a word, 5 beside the one before.
TEST(FuzzyMatch, ScoresAddUp) {
  EXPECT_EQ(score("p", "Step"), 1);
  EXPECT_EQ(score("s", "Step"), 9);
  EXPECT_EQ(score("st", "Step"), 9 + 6);
  EXPECT_EQ(score("sp", "Step"), 9 + 1);
  EXPECT_EQ(score("s", "Go to step"), 7);
  EXPECT_EQ(score("gs", "Go to step"), 9 + 7);
}

TEST(FuzzyMatch, OfSeveralPlacesTheBestIsTaken) {
  EXPECT_THAT(places("re", "Prepare request"), ElementsAre(8, 9));
  EXPECT_THAT(places("bt", "Subset of block table"), ElementsAre(10, 16));
  EXPECT_THAT(places("tab", "To a table"), ElementsAre(5, 6, 7));
}

TEST(FuzzyMatch, WordsBeginBehindPunctuationAndAtHumps) {
  EXPECT_THAT(places("gt", "sting.go_to"), ElementsAre(6, 9));
  EXPECT_THAT(places("bt", "abbotBlockTable"), ElementsAre(5, 10));
  EXPECT_EQ(score("2", "v 2"), 7);
}

TEST(FuzzyMatch, BytesBeyondAsciiAreComparedAsTheyAre) {
  EXPECT_THAT(places("\xC3\xA9t", "caf\xC3\xA9 trace"), ElementsAre(3, 4, 6));
  EXPECT_EQ(score("t", "\xC3\xA9tat"), 1);  // no word begins at the first t
}

// The best score alone would take "Block Tables: ..." for what stands together behind it.
TEST(FuzzyMatch, MarkedIsWhatMakesTheMatchItsKind) {
  EXPECT_THAT(places("bat", "Batch rows"), ElementsAre(0, 1, 2));
  EXPECT_THAT(places("bat", "Save Bar: acrobat"), ElementsAre(14, 15, 16)) << "inside";
  EXPECT_THAT(places("ta", "Start: stale Tab"), ElementsAre(13, 14)) << "a word begins so";
  EXPECT_THAT(places("g t s", "Go to step"), ElementsAre(0, 3, 6)) << "three words";
  EXPECT_THAT(places("goto", "Go to step"), ElementsAre(0, 1, 3, 4)) << "without the space";
  EXPECT_THAT(places("o st", "Go to step"), ElementsAre(4, 6, 7)) << "with the space inside";
}

TEST(Contains, IgnoresCaseAndFindsAnEmptyPartEverywhere) {
  EXPECT_TRUE(contains("Block tables", "TABLE"));
  EXPECT_TRUE(contains("", ""));
  EXPECT_FALSE(contains("Block", "blocks"));
}

}  // namespace

}  // namespace hybridscope::key_chord_test
