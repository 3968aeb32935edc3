#include "cli/lesson_play.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/lesson_text.h"
#include "cli/report_error.h"
#include "cli/step_table.h"
#include "sessions/explain/explain_names.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/live/live_player.h"

namespace hybridscope {

namespace {

constexpr std::size_t kMaxTopics = 4;

struct PanelTopics {
  std::string_view panel;
  std::array<StepTopic, kMaxTopics> topics;
  std::size_t count = 0;
};

constexpr std::array kPanels = {
    PanelTopics{"requests", {StepTopic::schedule, StepTopic::rows}, 2},
    PanelTopics{"prefix_cache", {StepTopic::schedule, StepTopic::blocks}, 2},
    PanelTopics{"block_tables", {StepTopic::blocks, StepTopic::tables}, 2},
    PanelTopics{"batch_rows", {StepTopic::rows}, 1},
    PanelTopics{"graph_padding", {StepTopic::rows, StepTopic::graph, StepTopic::metadata}, 3},
    PanelTopics{"metadata", {StepTopic::rows, StepTopic::metadata}, 2},
    PanelTopics{
        "state_copies",
        {StepTopic::tables, StepTopic::pre_copies, StepTopic::forward, StepTopic::post_copies},
        4},
    PanelTopics{"speculative", {StepTopic::rows, StepTopic::forward, StepTopic::sample}, 3},
    PanelTopics{"timeline", {StepTopic::schedule, StepTopic::sample, StepTopic::commit}, 3},
    PanelTopics{"findings", {StepTopic::rows, StepTopic::forward, StepTopic::findings}, 3},
    PanelTopics{"", {StepTopic::schedule, StepTopic::rows}, 2}};

// Plays one lesson and counts the answers.
class LessonPlay {
 public:
  LessonPlay(LessonRun run, AnswerSource source, LineSource& answers)
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
  LineSource& answers_;
  std::size_t num_asked_ = 0;
  std::size_t num_right_ = 0;
  std::size_t num_answered_ = 0;
  std::size_t num_problems_ = 0;  // stored answers that differ from the engine's
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
  for (std::size_t q = 0; q < run_.part().questions.size(); ++q) {
    ask(q);
    if (was_interrupted()) return Error{ErrorKind::not_available, "interrupted"};
  }
  return run_.part().predict ? show_step() : Status(Ok{});
}

// Empty: there are no more answers.
std::optional<std::string> LessonPlay::next_line() {
  if (source_ == AnswerSource::nobody) return std::nullopt;
  if (source_ == AnswerSource::terminal) fmt::print("> ");
  std::fflush(stdout);
  if (const auto line = answers_.next(); line.ok() && line.value())
    return std::string(line.value()->text);
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
    fmt::print("{}", wrapped_lines(*problem));
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
    fmt::print("{}", format_lesson_reply(checked.value().words));
    if (!readable && source_ == AnswerSource::terminal) continue;
    if (readable) ++num_answered_;
    if (checked.value().verdict == AnswerVerdict::right) ++num_right_;
    if (readable) return;
    break;
  }
  if (!was_interrupted()) tell(question);
}

void LessonPlay::tell(std::size_t question) {
  const EngineAnswer& engine = run_.answer_of(question).value();
  fmt::print("{}", wrapped_lines(fmt::format("The engine: {}. {}", engine.words, engine.because)));
}

int LessonPlay::finish() const {
  fmt::print("\n");
  if (num_answered_ > 0)
    fmt::print("{}\n", answered_words(num_answered_, num_questions(run_.lesson()), num_right_));
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

std::span<const StepTopic> topics_of_panel(std::string_view panel) {
  const auto* row = std::ranges::find(kPanels, panel, &PanelTopics::panel);
  if (row == kPanels.end()) --row;
  return std::span(row->topics).first(row->count);
}

Result<std::string> format_lesson_view(const Lesson& lesson, const LessonPart& part) {
  auto plan = plan_lesson(lesson, part);
  if (!plan.ok()) return plan.error();
  auto created = LivePlayer::create(std::move(plan).value(), {});
  if (!created.ok()) return created.error();
  LivePlayer& player = *created.value();
  const Engine& engine = player.run().engine();
  const Names names = make_names(engine);
  std::vector<StepRow> rows;
  while (player.number() < part.step) {
    if (Status stepped = player.step(); !stepped.ok()) return stepped.error();
    rows.push_back(describe_step(player.trace(), names, player.findings()));
  }
  const std::string table = part.show.panel == "timeline" ? format_step_table(rows) + "\n" : "";
  return table + explain_topics({.trace = player.trace(),
                                 .config = engine.config(),
                                 .names = names,
                                 .scheduler_tables = player.tables().scheduler(),
                                 .findings = player.findings()},
                                topics_of_panel(part.show.panel));
}

int play_lesson(const Lesson& lesson, AnswerSource source, LineSource& answers) {
  auto run = LessonRun::create(lesson);
  if (!run.ok()) return report_error("lessons run", run.error());
  LessonPlay play(std::move(run).value(), source, answers);
  if (const Status played = play.play(); !played.ok()) {
    const int by_kind = report_error("lessons run", played.error());
    return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
  }
  return play.finish();
}

}  // namespace hybridscope
