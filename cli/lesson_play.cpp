#include "cli/lessons_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/process.h"
#include "cli/step_table.h"
#include "sessions/explain/explain_names.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/live/live_player.h"
#include "sessions/text/shown_text.h"

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

constexpr std::string_view kTypedWords =
    "An answer, or an empty line to see the engine's; hint says what is asked for, back goes to "
    "the "
    "question before, q or Ctrl-D leaves, ? shows this.";
constexpr std::string_view kGoesOnWords = " The same command goes on where you left.";

// What follows a question.
enum class Move : std::uint8_t { next, back, leave };

}  // namespace

std::span<const StepTopic> topics_of_panel(std::string_view panel) {
  const auto* row = std::ranges::find(kPanels, panel, &PanelTopics::panel);
  if (row == kPanels.end()) --row;
  return std::span(row->topics).first(row->count);
}

namespace {

// The panel of the part at its step. Error: the scenario does not run that far.
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

// Plays one lesson and counts the answers.
class LessonPlay {
 public:
  LessonPlay(LessonRun run, const TakenLesson& taken, AnswerSource source, LineSource& answers,
             LessonProgress& progress)
      : run_(std::move(run)),
        typed_(taken.typed),
        key_(taken.key),
        source_(source),
        answers_(answers),
        progress_(progress),
        goes_on_(progress.is_kept()) {
    const std::vector<LessonPart>& parts = run_.lesson().parts;
    for (std::size_t part = 0; part < parts.size(); ++part)
      for (std::size_t question = 0; question < parts[part].questions.size(); ++question)
        questions_.push_back({part, question});
    place_ = {.question = 0, .answers = std::vector(questions_.size(), AnswerState::open)};
    if (at_terminal()) place_ = progress_.of(key_, questions_.size());
  }

  // Error: a part cannot be played, or it was interrupted.
  Status play();
  int finish() const;

 private:
  // A question's part, and its place there.
  struct Question {
    std::size_t part = 0;
    std::size_t index = 0;
  };
  bool at_terminal() const { return source_ == AnswerSource::terminal; }
  Status open_part(std::size_t part);
  Status show_step() const;
  Status end_part();
  void keep_place();
  std::string typed_words() const;
  Result<Move> ask();
  Move answer(std::size_t question);
  // Does what a typed word asks for. Empty: the question is asked again, as after `hint`.
  std::optional<Move> typed_word(const std::string& line, std::size_t question) const;
  void tell(std::size_t question);
  std::optional<std::string> next_line();

  LessonRun run_;
  std::string typed_;
  std::string key_;
  AnswerSource source_;
  LineSource& answers_;
  LessonProgress& progress_;
  std::vector<Question> questions_;  // of all parts
  LessonPlace place_;
  std::size_t num_asked_ = 0;
  std::size_t num_problems_ = 0;  // stored answers that differ from the engine's
  bool left_ = false;
  bool goes_on_;  // the next run begins where this one is left
};

Status LessonPlay::show_step() const {
  const auto view = format_lesson_view(run_.lesson(), run_.part());
  if (!view.ok()) return view.error();
  fmt::print("\n{}", view.value());
  return Ok{};
}

Status LessonPlay::open_part(std::size_t part) {
  if (Status moved = run_.go_to_part(part); !moved.ok()) return moved;
  fmt::print("\n{}", format_lesson_part(run_.lesson(), part));
  return run_.part().predict ? Status(Ok{}) : show_step();
}

// A part that asks first shows its step after its questions.
Status LessonPlay::end_part() { return run_.part().predict ? show_step() : Status(Ok{}); }

// A lesson that cannot be kept can be taken all the same.
void LessonPlay::keep_place() {
  if (!at_terminal() || !goes_on_) return;
  const Status kept = progress_.keep(key_, place_);
  if (kept.ok()) return;
  goes_on_ = false;
  report_note("the next run begins at the first question: " + kept.error().message);
}

std::string LessonPlay::typed_words() const {
  return wrapped_lines(std::string(kTypedWords) + std::string(goes_on_ ? kGoesOnWords : ""));
}

Status LessonPlay::play() {
  const std::size_t num_parts = run_.lesson().parts.size();
  fmt::print("{}", format_lesson_heading(run_.lesson()));
  std::size_t part = 0;
  if (place_.question > 0) {
    part = questions_[place_.question].part;
    fmt::print("\nYou left before question {}; back goes to the ones before.\n",
               place_.question + 1);
  }
  if (at_terminal()) fmt::print("\n{}", typed_words());
  for (; part < num_parts && !left_; ++part) {
    if (Status opened = open_part(part); !opened.ok()) return opened;
    while (place_.question < questions_.size() && questions_[place_.question].part == part) {
      const auto move = ask();
      if (!move.ok()) return move.error();
      if (move.value() == Move::leave) return Ok{};
      if (move.value() == Move::next) {
        ++place_.question;
      } else if (place_.question > 0) {
        --place_.question;
        if (const std::size_t before = questions_[place_.question].part; before != part) {
          part = before;
          if (Status opened = open_part(part); !opened.ok()) return opened;
        }
      }
      keep_place();
    }
    if (Status ended = end_part(); !ended.ok()) return ended;
  }
  return Ok{};
}

// The next answer; empty: there are no more. Ctrl-D at a terminal is as good as q.
std::optional<std::string> LessonPlay::next_line() {
  if (source_ == AnswerSource::nobody) return std::nullopt;
  if (at_terminal()) fmt::print("> ");
  std::fflush(stdout);
  if (const auto line = answers_.next(); line.ok() && line.value())
    return std::string(line.value()->text);
  if (at_terminal()) {
    fmt::print("\n");
    return "q";
  }
  source_ = AnswerSource::nobody;
  return std::nullopt;
}

// Error: it was interrupted.
Result<Move> LessonPlay::ask() {
  ++num_asked_;
  const std::size_t question = questions_[place_.question].index;
  fmt::print("\n{}", format_lesson_question(run_.part().questions[question], place_.question + 1));
  Move move = Move::next;
  if (const auto problem = run_.disagreement(question)) {
    ++num_problems_;
    fmt::print("{}", wrapped_lines(*problem));
  } else {
    move = answer(question);
  }
  if (was_interrupted()) return Error{ErrorKind::not_available, "interrupted"};
  left_ = move == Move::leave;
  return move;
}

std::optional<Move> LessonPlay::typed_word(const std::string& line, std::size_t question) const {
  if (line == "q") return Move::leave;
  if (line == "back" && place_.question > 0) return Move::back;
  if (line == "back") fmt::print("This is the first question.\n");
  if (line == "?") fmt::print("{}", typed_words());
  if (line == "hint") {
    const LessonQuestion& asked = run_.part().questions[question];
    fmt::print("{}", wrapped_lines(fmt::format(
                         "The engine's {}{}; hybridscope run --break help says what that is.",
                         asked.value, asked.where == "true" ? "" : " where " + asked.where)));
  }
  return std::nullopt;
}

Move LessonPlay::answer(std::size_t question) {
  for (auto line = next_line(); line; line = next_line()) {
    if (line->empty()) break;  // an empty line asks for the answer
    if (at_terminal() && std::ranges::count(kLessonWords, *line) > 0) {
      if (const auto move = typed_word(*line, question)) return *move;
      continue;
    }
    const auto checked = run_.check(question, *line);
    if (!checked.ok()) break;
    const bool readable = checked.value().verdict != AnswerVerdict::unreadable;
    fmt::print("{}", format_lesson_reply(checked.value().words));
    if (!readable && at_terminal()) continue;
    if (!readable) break;
    place_.answers[place_.question] =
        checked.value().verdict == AnswerVerdict::right ? AnswerState::right : AnswerState::wrong;
    return Move::next;
  }
  if (!was_interrupted()) tell(question);
  return Move::next;
}

void LessonPlay::tell(std::size_t question) {
  const EngineAnswer& engine = run_.answer_of(question).value();
  fmt::print("{}", wrapped_lines(fmt::format("The engine: {}. {}", engine.words, engine.because)));
}

int LessonPlay::finish() const {
  fmt::print("\n");
  const auto right = std::ranges::count(place_.answers, AnswerState::right);
  const auto answered = right + std::ranges::count(place_.answers, AnswerState::wrong);
  if (answered > 0)
    fmt::print("{}\n", answered_words(static_cast<std::size_t>(answered), questions_.size(),
                                      static_cast<std::size_t>(right)));
  if (left_) {
    if (goes_on_)
      fmt::print("hybridscope lessons run {} goes on with question {}\n", shell_word(typed_),
                 place_.question + 1);
    return kExitFine;
  }
  if (num_problems_ > 0) {
    fmt::print("{} of {} questions: the lesson and the engine do not agree\n", num_problems_,
               num_asked_);
    return kExitFindings;
  }
  if (answered == 0)
    fmt::print("{} questions, the lesson's answers are the engine's\n", num_asked_);
  return kExitFine;
}

}  // namespace

int play_lesson(const TakenLesson& taken, AnswerSource source, LineSource& answers,
                LessonProgress& progress) {
  auto run = LessonRun::create(taken.lesson);
  if (!run.ok()) return report_error("lessons run", run.error());
  LessonPlay play(std::move(run).value(), taken, source, answers, progress);
  if (const Status played = play.play(); !played.ok()) {
    const int by_kind = report_error("lessons run", played.error());
    return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
  }
  return play.finish();
}

}  // namespace hybridscope
