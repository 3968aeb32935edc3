// A lesson being played: its scenario at the step of a part, the engine's answers to the part's
// questions, and the reply to a learner's answer. For user interfaces: list lessons, open one, go
// to its parts, ask, check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/lessons/lesson.h"
#include "sessions/live/live_player.h"

namespace hybridscope {

// The engine's answer to a question, in words.
struct EngineAnswer {
  std::string words;                         // "2", "yes", "within_block_shift", "A"
  std::string because;                       // with its placeholders filled in
  std::vector<LessonMistake> mistakes = {};  // with their placeholders filled in
};

enum class AnswerVerdict : std::uint8_t {
  right,
  wrong,
  unreadable,  // not an answer to this question: ask again
};

struct CheckedAnswer {
  AnswerVerdict verdict = AnswerVerdict::unreadable;
  // "Right: 2. BECAUSE", "Not 1 but 2. BECAUSE", "expected a whole number ..."; if 3 was foreseen,
  // three lines: "Not 3 but 2.\nMISTAKE\nBECAUSE".
  std::string words;
};

// The plan of a part's run, for callers that run it themselves. Errors: those of plan_scenario.
Result<RunPlan> plan_lesson(const Lesson& lesson, const LessonPart& part);

class LessonRun {
 public:
  // Starts before the first part. Error: what planning the scenario refuses.
  static Result<LessonRun> create(Lesson lesson);

  const Lesson& lesson() const { return lesson_; }

  // Plays to the step of the part with this index and answers its questions. Errors: not_found, the
  // run has no such step; what the engine refuses. After an error only the player's position has
  // changed.
  Status go_to_part(std::size_t part);
  std::size_t part_index() const { return part_index_; }
  // Requires: go_to_part() succeeded.
  const LessonPart& part() const { return lesson_.parts[part_index_]; }

  // The answer to a question of the open part, even after the player has moved. Error, naming
  // lesson, part and question: the step has no such element, or the field has several values.
  const Result<EngineAnswer>& answer_of(std::size_t question) const { return answers_[question]; }
  // How the lesson's own answer disagrees with the engine's; empty: it agrees.
  std::optional<std::string> disagreement(std::size_t question) const;
  // Compares a learner's answer with the engine's. Error: that of answer_of.
  Result<CheckedAnswer> check(std::size_t question, std::string_view text) const;

  // The player of the part's run; it stands at the part's step until a caller moves it.
  LivePlayer& player() { return *player_; }
  const LivePlayer& player() const { return *player_; }

 private:
  LessonRun(Lesson lesson, std::unique_ptr<LivePlayer> player);
  Status start(const LessonPart& part);
  Result<EngineAnswer> ask_engine(const LessonQuestion& asked) const;
  std::string place_of(std::size_t question) const;

  Lesson lesson_;
  std::unique_ptr<LivePlayer> player_;
  EngineSettings settings_;  // the settings of the part that the player plays
  std::size_t part_index_ = 0;
  std::vector<Result<EngineAnswer>> answers_;  // [questions of the part]
};

// A question whose stored answer is missing or differs from the engine's, or a part that cannot be
// played.
struct LessonProblem {
  std::size_t part = 0;      // from 1; 0: the whole lesson
  std::size_t question = 0;  // from 1; 0: the whole part
  std::string message;  // "align_boundary, part 2, question 1: the lesson says 1, the engine 0"
};

// Plays all parts and compares all answers. Empty: lesson and engine agree.
std::vector<LessonProblem> check_lesson(const Lesson& lesson);

// What a lesson says of a language model's answers, held against the model: a part's run is played
// to its end with the model on its decisions.

// The texts of all parts (LessonPart::says).
std::size_t num_sayings(const Lesson& lesson);

// What requests do not say as the lesson says they do; empty if each does. A part that cannot be
// run is a problem of the whole part.
std::vector<LessonProblem> check_sayings(const Lesson& lesson,
                                         const std::shared_ptr<const HybridModel>& model);

}  // namespace hybridscope
