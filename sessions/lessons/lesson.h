// A lesson: a scenario, steps of it to stop at, text about what is to be seen there, and questions
// whose answers the engine gives (docs/lessons.md). Plain values; files are read by lesson_reader,
// played by lesson_run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/scenario/scenario.h"

namespace hybridscope {

inline constexpr std::int32_t kLessonVersion = 1;

// What an interface opens and selects at a part; what is empty is left as it is.
struct LessonShow {
  std::string panel = {};  // one of lesson_panels()
  std::string request = {};
  std::optional<std::int32_t> group = {};
  std::optional<std::int32_t> column = {};
  std::optional<std::int32_t> block = {};
  friend bool operator==(const LessonShow&, const LessonShow&) = default;
};

// Words of `show.panel`.
std::span<const std::string_view> lesson_panels();

// The right answer is the value that field `value` has in what `where` picks of the part's step.
struct LessonQuestion {
  std::string ask = {};
  std::string value = {};                 // a field of break expressions: "copy.dst_col"
  std::string where = {};                 // a break expression: "copy.request==A"
  std::string answer = {};                // what the author says, in the words of the engine
  std::vector<std::string> choices = {};  // empty: free; else `answer` is one of them
  std::string because = {};               // why, with {answer} and {FIELD} to be filled in
  friend bool operator==(const LessonQuestion&, const LessonQuestion&) = default;
};

struct LessonPart {
  std::int64_t step = 1;
  bool predict = false;           // the questions come before the step is shown
  EngineSettings settings = {};   // the scenario's that are other ones here
  std::vector<std::string> text;  // paragraphs
  LessonShow show = {};
  std::vector<LessonQuestion> questions = {};
  friend bool operator==(const LessonPart&, const LessonPart&) = default;
};

struct Lesson {
  std::string name = {};           // of its file, without .json
  std::string title = {};          // for lists
  std::string teaches = {};        // one sentence
  Scenario scenario = {};          // as it stands there or in the file it names
  std::string scenario_file = {};  // where that is, for messages
  std::vector<LessonPart> parts = {};
  friend bool operator==(const Lesson&, const Lesson&) = default;
};

std::size_t num_questions(const Lesson& lesson);

// The scenario as a part's run has it.
Scenario scenario_of(const Lesson& lesson, const LessonPart& part);

// The pieces of `because`: text, and the names in braces.
struct LessonTextPiece {
  std::string text;
  bool is_name = false;
};
std::vector<LessonTextPiece> split_because(std::string_view because);

}  // namespace hybridscope
