// A lesson: a scenario, steps of it to stop at, text about what can be seen there, and questions
// whose answers the engine gives (docs/workbench.md). Plain values and their reader
// (lesson_reader.cpp); lesson_run.h plays them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_fields.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

inline constexpr std::int32_t kLessonVersion = 1;

// What a user interface opens and selects at a part; empty members change nothing.
struct LessonShow {
  std::string panel = {};  // one of lesson_panels()
  std::string request = {};
  std::optional<std::int32_t> group = {};
  std::optional<std::int32_t> column = {};
  std::optional<std::int32_t> block = {};
  friend bool operator==(const LessonShow&, const LessonShow&) = default;
};

// The allowed values of `show.panel`.
std::span<const std::string_view> lesson_panels();

// A wrong answer that is foreseen, and what is said to it.
struct LessonMistake {
  std::string answer = {};  // in the engine's words; not the right one
  // Which rule was misread and what the engine does instead, with placeholders as in `because`.
  std::string words = {};
  friend bool operator==(const LessonMistake&, const LessonMistake&) = default;
};

// A question about the part's step. The right answer is the value of the field `value` in the
// element that `where` picks.
struct LessonQuestion {
  std::string ask = {};
  std::string value = {};   // a field of break expressions: "copy.dst_col"
  std::string where = {};   // a break expression: "copy.request==A"
  std::string answer = {};  // the author's answer, in the engine's words
  // What may be answered; `answer` is one of them. If there are none, any text may be answered.
  std::vector<std::string> choices = {};
  std::string because = {};  // the reason, with {answer} and {FIELD} as placeholders
  std::vector<LessonMistake> mistakes = {};  // one for an answer at most
  friend bool operator==(const LessonQuestion&, const LessonQuestion&) = default;
};

// What a request says in the part's run with the language model of kShippedModel on its decisions.
struct LessonSaying {
  std::string request = {};
  std::string text = {};  // as `hybridscope run` prints it
  friend bool operator==(const LessonSaying&, const LessonSaying&) = default;
};

struct LessonPart {
  std::int64_t step = 1;
  bool predict = false;           // ask the questions before the step is shown
  EngineSettings settings = {};   // the settings that differ from the scenario's
  std::vector<std::string> text;  // paragraphs; the last one tells what `says` has
  std::vector<LessonSaying> says = {};
  LessonShow show = {};
  std::vector<LessonQuestion> questions = {};
  friend bool operator==(const LessonPart&, const LessonPart&) = default;
};

struct Lesson {
  std::string name = {};           // of its file, without .json
  std::string title = {};          // shown in lists
  std::string teaches = {};        // one sentence
  Scenario scenario = {};          // the scenario in the lesson or in the file that it names
  std::string scenario_file = {};  // the file of the scenario, for messages
  std::vector<LessonPart> parts = {};
  friend bool operator==(const Lesson&, const Lesson&) = default;
};

std::size_t num_questions(const Lesson& lesson);
// "2 of 5 questions answered, 1 right": the same wherever a lesson is taken.
std::string answered_words(std::size_t num_answered, std::size_t num_questions,
                           std::size_t num_right);

// The scenario with the part's settings.
Scenario scenario_of(const Lesson& lesson, const LessonPart& part);

// A piece of a text with placeholders: text, or a name in braces.
struct LessonTextPiece {
  std::string text;
  bool is_name = false;
};
std::vector<LessonTextPiece> split_placeholders(std::string_view text);

// Answers as text. The author's, the learner's and the engine's answers use the same words.

// The answer in the words of break_value_words(): " 07" becomes "7", "True" becomes "yes",
// "Within-block shift" becomes "within_block_shift". Empty for a value that the field can never
// have.
std::optional<std::string> canonical_answer(const BreakField& field, std::string_view text);

// "a whole number", "yes or no", "one of decode, verify, prefill, padding", "the name of a
// request".
std::string answer_kind(const BreakField& field);

// Lessons as a web site: what `lessons export` gives to whatever makes the pages (gui/web), and
// what it gets back and writes.

// The first words of every file of a site, as a comment of its language; a site replaces only files
// that contain them.
inline constexpr std::string_view kLessonSiteMark = "Made by hybridscope lessons export";

struct LessonSiteInput {
  std::vector<Lesson> lessons;  // in the order of the index; their names differ
  std::string program;          // "hybridscope 0.1.0"
  // Called before each lesson is run; returns false to stop. Empty: nobody waits.
  std::function<bool(const Lesson&)> on_lesson = {};
};

struct SiteFile {
  std::string name;  // "align_boundary.html": the site has no folders
  std::string text;
};

// Errors: what the engine refuses; a part or a question that the run cannot answer, with the names
// of lesson and part; not_available: `on_lesson` stopped it.
using MakeLessonSite = Result<std::vector<SiteFile>> (*)(const LessonSiteInput&);

// Reads lesson files and texts into Lesson values (docs/workbench.md).

// One question of a lesson file. For lesson_reader.cpp.
LessonQuestion read_lesson_question(const JsonValue& place);

// Returns the text of the file at a path.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

struct LessonText {
  std::string_view text;
  std::string_view file;  // its stem is the lesson's name; scenario paths are relative to it
};

// `read` returns the text of a scenario that the lesson names by path. Error corrupt with
// "FILE:LINE:COLUMN: ...": not JSON. Error invalid_input with "FILE: POINTER: ...": unknown keys,
// wrong types, an invalid scenario, unknown fields, invalid expressions, an answer that the field
// can never have.
Result<Lesson> parse_lesson(const LessonText& lesson, const ReadText& read);

// Error io: the file cannot be read.
Result<Lesson> read_lesson_file(const std::string& path);

// The lessons and scenarios built into the program.

// Their names, in the recommended order.
std::vector<std::string_view> shipped_lesson_names();

// Error not_found: no lesson has this name; names the nearest one and all others.
Result<Lesson> shipped_lesson(std::string_view name);

// The file names without .json, sorted.
std::vector<std::string_view> shipped_scenario_names();
// Error not_found: no scenario has this name.
Result<Scenario> shipped_scenario(std::string_view name);

}  // namespace hybridscope
