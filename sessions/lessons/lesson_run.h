// A lesson while it is played: its scenario at the step of a part, the engine's answers to that
// part's questions, and what is said to an answer. For interfaces: list lessons, open one, go to
// its parts, ask, check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"
#include "sessions/live/live_player.h"

namespace hybridscope {

// What the engine did, in words.
struct EngineAnswer {
  std::string words;    // "2", "yes", "within_block_shift", "A"
  std::string because;  // with its places filled in
};

enum class AnswerVerdict : std::uint8_t {
  right,
  wrong,
  unreadable,  // no answer to this question: ask again
};

struct CheckedAnswer {
  AnswerVerdict verdict = AnswerVerdict::unreadable;
  std::string words;  // "Right: 2. BECAUSE", "Not 1 but 2. BECAUSE", "expected a whole number ..."
};

// The plan of a part's run, for who plays it elsewhere. Error: as plan_scenario.
Result<RunPlan> plan_lesson(const Lesson& lesson, const LessonPart& part);

class LessonRun {
 public:
  // Stands before the first part. Error: what the scenario's plan refuses.
  static Result<LessonRun> create(Lesson lesson);

  const Lesson& lesson() const { return lesson_; }

  // Plays to the step of the part with this index and answers its questions. Errors: not_found, the
  // run has no such step; what the engine refuses. Nothing changes then but the player's place.
  Status go_to_part(std::size_t part);
  std::size_t part_index() const { return part_index_; }
  // Requires: go_to_part() succeeded.
  const LessonPart& part() const { return lesson_.parts[part_index_]; }

  // Of the part that is open, wherever the player has been moved since. Error, naming lesson, part
  // and question: the step has no such thing, or several values of it.
  const Result<EngineAnswer>& answer_of(std::size_t question) const { return answers_[question]; }
  // What is wrong with the lesson's own answer; empty: the engine's is the same.
  std::optional<std::string> disagreement(std::size_t question) const;
  // Holds what somebody answers against the engine. Error: as answer_of.
  Result<CheckedAnswer> check(std::size_t question, std::string_view text) const;

  // At the part's step until somebody moves it.
  LivePlayer& player() { return *player_; }
  const LivePlayer& player() const { return *player_; }

 private:
  LessonRun(Lesson lesson, std::unique_ptr<LivePlayer> player);
  Status start(const LessonPart& part);
  Result<EngineAnswer> ask_engine(std::size_t question) const;
  std::string place_of(std::size_t question) const;

  Lesson lesson_;
  std::unique_ptr<LivePlayer> player_;
  EngineSettings settings_;  // what the part that the player plays changes
  std::size_t part_index_ = 0;
  std::vector<Result<EngineAnswer>> answers_;  // [questions of the part]
};

// A question whose stored answer is not the engine's or that has none, or a part that cannot be
// played.
struct LessonProblem {
  std::size_t part = 0;      // from 1; 0: the lesson as a whole
  std::size_t question = 0;  // from 1; 0: the part as a whole
  std::string message;  // "align_boundary, part 2, question 1: the lesson says 1, the engine 0"
};

// Plays all parts and compares all answers. Empty: the lesson and the engine agree.
std::vector<LessonProblem> check_lesson(const Lesson& lesson);

}  // namespace hybridscope
