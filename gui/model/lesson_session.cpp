#include "gui/model/lesson_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/result.h"
#include "gui/model/live_run.h"
#include "gui/model/workbench.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

LessonSession::LessonSession(LessonRun run) : run_(std::move(run)) {
  for (const LessonPart& part : run_.lesson().parts) taken_.emplace_back(part.questions.size());
}

Result<LessonSession> LessonSession::open(Lesson lesson) {
  auto run = LessonRun::create(std::move(lesson));
  if (!run.ok()) return run.error();
  LessonSession session(std::move(run).value());
  if (Status gone = session.go_to_part(0); !gone.ok()) return gone.error();
  return session;
}

Status LessonSession::go_to_part(std::size_t part) { return run_.go_to_part(part); }

Status LessonSession::answer(std::size_t question, const std::string& text) {
  std::vector<TakenQuestion>& taken = taken_[part_index()];
  HS_EXPECT(question < taken.size());
  const auto checked = run_.check(question, text);
  if (!checked.ok()) return checked.error();
  TakenQuestion& answered = taken[question];
  answered.verdict = checked.value().verdict;
  answered.words = checked.value().words;
  answered.answered = answered.verdict != AnswerVerdict::unreadable;
  return Ok{};
}

bool LessonSession::part_is_answered() const {
  return std::ranges::all_of(taken(), &TakenQuestion::answered);
}

bool LessonSession::waits_only_for(std::size_t question) const {
  if (step_to_show() == part().step) return false;
  for (std::size_t i = 0; i < taken().size(); ++i)
    if (taken()[i].answered == (i == question)) return false;
  return true;
}

std::size_t LessonSession::num_answered() const {
  std::size_t answered = 0;
  for (const auto& part : taken_)
    answered += static_cast<std::size_t>(std::ranges::count(part, true, &TakenQuestion::answered));
  return answered;
}

std::size_t LessonSession::num_right() const {
  std::size_t right = 0;
  for (const auto& part : taken_)
    for (const TakenQuestion& question : part)
      right += question.answered && question.verdict == AnswerVerdict::right ? 1 : 0;
  return right;
}

std::int64_t LessonSession::step_to_show() const {
  const bool waits = part().predict && !part_is_answered();
  return waits ? part().step - 1 : part().step;
}

Result<std::unique_ptr<ShownRun>> LessonSession::make_run() const {
  auto plan = plan_lesson(lesson(), part());
  if (!plan.ok()) return plan.error();
  auto run = LiveRun::create(std::move(plan).value());
  if (!run.ok()) return run.error();
  if (step_to_show() == 0) return std::unique_ptr<ShownRun>(std::move(run).value());
  if (Status moved = run.value()->go_to(step_to_show()); !moved.ok()) return moved.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

std::vector<std::string> offered_answers(const LessonQuestion& question) {
  if (question.choices.empty() && (question.answer == "yes" || question.answer == "no"))
    return {"yes", "no"};
  return question.choices;
}

std::string progress_words(const LessonSession& session) {
  return fmt::format(
      "part {} of {}, {}", session.part_index() + 1, session.lesson().parts.size(),
      answered_words(session.num_answered(), session.num_questions(), session.num_right()));
}

Picture lesson_picture(Workbench& workbench) {
  if (workbench.lesson() == nullptr) {
    Table names{.title = "Lessons", .note = std::string(kNoLesson), .headings = {"Lesson"}};
    for (const std::string_view name : shipped_lesson_names())
      names.rows.push_back({words_cell(name)});
    return {.tables = {std::move(names)}};
  }
  const LessonSession& session = *workbench.lesson();
  Picture content{.notes = {session.lesson().title, progress_words(session)}};
  for (const std::string& paragraph : session.part().text) content.notes.push_back(paragraph);
  Table table{.title = "Questions", .headings = {"Number", "Question", "Choices", "Answered"}};
  for (std::size_t i = 0; i < session.part().questions.size(); ++i) {
    const LessonQuestion& question = session.part().questions[i];
    std::string choices;
    for (const std::string& choice : offered_answers(question))
      choices += fmt::format("{}{}", choices.empty() ? "" : ", ", choice);
    table.rows.push_back({number_cell(static_cast<std::int64_t>(i) + 1), words_cell(question.ask),
                          words_cell(choices), words_cell(session.taken()[i].words)});
  }
  content.tables.push_back(std::move(table));
  return content;
}

}  // namespace hybridscope
