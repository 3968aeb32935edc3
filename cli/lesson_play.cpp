#include "cli/lesson_play.h"

#include <fmt/format.h>

#include <cstdio>
#include <istream>
#include <optional>
#include <string>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/lesson_text.h"
#include "cli/lesson_view.h"
#include "cli/report_error.h"
#include "sessions/lessons/lesson_run.h"

namespace hybridscope {
namespace {

// Plays one lesson and counts.
class LessonPlay {
 public:
  LessonPlay(LessonRun run, AnswerSource source, std::istream& answers)
      : run_(std::move(run)), source_(source), answers_(answers) {}

  // Error: a part cannot be played.
  Status play() {
    fmt::print("{}", format_lesson_heading(run_.lesson()));
    for (std::size_t p = 0; p < run_.lesson().parts.size(); ++p)
      if (Status played = play_part(p); !played.ok()) return played;
    return Ok{};
  }
  int finish() const;

 private:
  Status play_part(std::size_t part);
  Status show_step() const;
  void ask(std::size_t question);
  void answer(std::size_t question);
  void tell(std::size_t question);
  std::optional<std::string> next_line();

  LessonRun run_;
  AnswerSource source_;
  std::istream& answers_;
  std::size_t num_asked_ = 0;
  std::size_t num_right_ = 0;
  std::size_t num_answered_ = 0;
  std::size_t num_problems_ = 0;  // stored answers that are not the engine's
};

Status LessonPlay::show_step() const {
  const auto view = format_lesson_view(run_.lesson(), run_.part());
  if (!view.ok()) return view.error();
  fmt::print("\n{}", view.value());
  return Ok{};
}

Status LessonPlay::play_part(std::size_t part) {
  if (Status moved = run_.go_to_part(part); !moved.ok()) return moved;
  fmt::print("\n{}", format_lesson_part(run_.lesson(), part));
  if (!run_.part().predict)
    if (Status shown = show_step(); !shown.ok()) return shown;
  for (std::size_t q = 0; q < run_.part().questions.size(); ++q) ask(q);
  return run_.part().predict ? show_step() : Status(Ok{});
}

// Nothing: there are no more answers.
std::optional<std::string> LessonPlay::next_line() {
  if (source_ == AnswerSource::nobody) return std::nullopt;
  if (source_ == AnswerSource::terminal) fmt::print("> ");
  std::fflush(stdout);
  std::string line;
  if (std::getline(answers_, line)) return line;
  if (source_ == AnswerSource::terminal) fmt::print("\n");
  source_ = AnswerSource::nobody;
  return std::nullopt;
}

void LessonPlay::ask(std::size_t question) {
  ++num_asked_;
  const LessonQuestion& asked = run_.part().questions[question];
  fmt::print("\n{}", format_lesson_question(asked, num_asked_));
  if (const auto problem = run_.disagreement(question)) {
    ++num_problems_;
    fmt::print("{}", wrapped_text(*problem));
    return;
  }
  answer(question);
}

void LessonPlay::answer(std::size_t question) {
  for (auto line = next_line(); line; line = next_line()) {
    if (line->empty()) break;  // an empty line asks for the answer
    const auto checked = run_.check(question, *line);
    if (!checked.ok()) break;
    const bool readable = checked.value().verdict != AnswerVerdict::unreadable;
    fmt::print("{}", wrapped_text(checked.value().words));
    if (!readable && source_ == AnswerSource::terminal) continue;
    ++num_answered_;
    if (checked.value().verdict == AnswerVerdict::right) ++num_right_;
    if (readable) return;
    break;
  }
  tell(question);
}

void LessonPlay::tell(std::size_t question) {
  const EngineAnswer& engine = run_.answer_of(question).value();
  fmt::print("{}", wrapped_text(fmt::format("The engine: {}. {}", engine.words, engine.because)));
}

int LessonPlay::finish() const {
  fmt::print("\n");
  if (num_answered_ > 0) fmt::print("{} of {} answers right\n", num_right_, num_answered_);
  if (num_problems_ > 0) {
    fmt::print("{} of {} questions: the lesson and the engine do not agree\n", num_problems_,
               num_asked_);
    return kExitFindings;
  }
  if (num_answered_ == 0)
    fmt::print("{} questions, the lesson's answers are the engine's\n", num_asked_);
  return kExitFine;
}

}  // namespace

int play_lesson(const Lesson& lesson, AnswerSource source, std::istream& answers) {
  auto run = LessonRun::create(lesson);
  if (!run.ok()) return report_error("lessons run", run.error());
  LessonPlay play(std::move(run).value(), source, answers);
  if (const Status played = play.play(); !played.ok())
    return report_error("lessons run", played.error());
  return play.finish();
}

}  // namespace hybridscope
