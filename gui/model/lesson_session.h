// A lesson being taken in the workbench: which part is open, what was answered.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/lessons/lesson_run.h"

namespace hybridscope {

class Workbench;

struct TakenQuestion {
  bool answered = false;  // with a readable answer
  AnswerVerdict verdict = AnswerVerdict::unreadable;
  std::string words;  // the reply to the last answer
};

class LessonSession {
 public:
  // Starts at the first part. Errors: those of LessonRun.
  static Result<LessonSession> open(Lesson lesson);

  const Lesson& lesson() const { return run_.lesson(); }
  std::size_t part_index() const { return run_.part_index(); }
  const LessonPart& part() const { return run_.part(); }
  Status go_to_part(std::size_t part);

  // The answers to the open part's questions: [questions]
  const std::vector<TakenQuestion>& taken() const { return taken_[part_index()]; }
  // Requires: the question exists. Error: as LessonRun::check.
  Status answer(std::size_t question, const std::string& text);
  bool part_is_answered() const;
  // Is this the only question that must be answered before another step is shown?
  bool waits_only_for(std::size_t question) const;
  // Answers, right ones among them, and questions, of all parts.
  std::size_t num_answered() const;
  std::size_t num_right() const;
  std::size_t num_questions() const { return hybridscope::num_questions(lesson()); }

  // The step to show; 0: none. A part with `predict` shows the step before its own until all its
  // questions are answered.
  std::int64_t step_to_show() const;
  // The run of the open part, at step_to_show(). Error: the engine's.
  Result<std::unique_ptr<ShownRun>> make_run() const;

 private:
  explicit LessonSession(LessonRun run);

  LessonRun run_;
  std::vector<std::vector<TakenQuestion>> taken_;  // [parts][questions]
};

// The possible answers; empty: anything.
std::vector<std::string> offered_answers(const LessonQuestion& question);
// "part 1 of 4, 2 of 5 questions answered, 1 right".
std::string progress_words(const LessonSession& session);
inline constexpr std::string_view kNoLesson = "No lesson is open. There are:";

// What the panel shows. Requires: a step is shown.
Picture lesson_picture(Workbench& workbench);

}  // namespace hybridscope
