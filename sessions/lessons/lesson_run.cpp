#include "sessions/lessons/lesson_run.h"

#include <fmt/core.h>
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/result.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/spoken_words.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxValuesShown = 4;

Result<std::unique_ptr<LivePlayer>> make_player(const Lesson& lesson, const LessonPart& part) {
  auto plan = plan_lesson(lesson, part);
  if (!plan.ok()) return plan.error();
  // Logs writes, because questions may ask about them. Lessons have few steps, so going back is
  // cheap.
  return LivePlayer::create(std::move(plan).value(),
                            {.max_snapshots = 8, .spacing = 4, .logs_writes = true});
}

std::string part_place(const Lesson& lesson, std::size_t part) {
  return fmt::format("{}, part {}", lesson.name, part + 1);
}

// The only value of a field, as words. Error: "VALUE where WHERE ..." with the number of values.
Result<std::string> one_value(std::string_view field, std::string_view where,
                              const LivePlayer& player) {
  auto query = BreakQuery::parse(field, where);
  if (!query.ok()) return query.error();
  const RequestName name = [&](RequestId id) { return player.run().engine().name_of(id); };
  const BreakStep step{player.trace(), player.findings(), player.writes()};
  const std::vector<std::int64_t> values = query.value().values(step, name);
  const BreakField& type = query.value().field();
  if (values.size() == 1) return break_value_words(type, values.front(), name);
  std::string found = values.empty() ? "no value" : fmt::format("{} values:", values.size());
  for (std::size_t i = 0; i < values.size() && i < kMaxValuesShown; ++i)
    found += " " + break_value_words(type, values[i], name);
  if (values.size() > kMaxValuesShown) found += " ...";
  return Error{ErrorKind::not_found, fmt::format("{} where {} has {} in step {} (expected one)",
                                                 field, where, found, player.number())};
}

}  // namespace

Result<RunPlan> plan_lesson(const Lesson& lesson, const LessonPart& part) {
  return plan_scenario(scenario_of(lesson, part), lesson.scenario_file);
}

Result<LessonRun> LessonRun::create(Lesson lesson) {
  HS_EXPECT(!lesson.parts.empty());
  auto player = make_player(lesson, lesson.parts.front());
  if (!player.ok()) return player.error();
  return LessonRun(std::move(lesson), std::move(player).value());
}

LessonRun::LessonRun(Lesson lesson, std::unique_ptr<LivePlayer> player)
    : lesson_(std::move(lesson)),
      player_(std::move(player)),
      settings_(lesson_.parts.front().settings) {}

// Each set of settings gets a new player.
Status LessonRun::start(const LessonPart& part) {
  if (part.settings == settings_) return Ok{};
  auto player = make_player(lesson_, part);
  if (!player.ok()) return player.error();
  player_ = std::move(player).value();
  settings_ = part.settings;
  return Ok{};
}

Status LessonRun::go_to_part(std::size_t part) {
  HS_EXPECT(part < lesson_.parts.size());
  const LessonPart& wanted = lesson_.parts[part];
  Status moved = start(wanted);
  if (moved.ok()) moved = player_->go_to(wanted.step);
  if (!moved.ok())
    return Error{moved.error().kind,
                 fmt::format("{}: {}", part_place(lesson_, part), moved.error().message)};
  part_index_ = part;
  answers_.clear();
  for (std::size_t q = 0; q < wanted.questions.size(); ++q) {
    auto answer = ask_engine(wanted.questions[q]);
    if (answer.ok())
      answers_.push_back(std::move(answer));
    else
      answers_.push_back(
          Error{answer.error().kind, fmt::format("{}: {}", place_of(q), answer.error().message)});
  }
  return Ok{};
}

std::string LessonRun::place_of(std::size_t question) const {
  return fmt::format("{}, question {}", part_place(lesson_, part_index_), question + 1);
}

// Error: without the place of the question.
Result<EngineAnswer> LessonRun::ask_engine(const LessonQuestion& asked) const {
  const auto words = one_value(asked.value, asked.where, *player_);
  if (!words.ok()) return words.error();
  std::optional<Error> error;
  const auto filled = [&](std::string_view text) {
    std::string whole;
    for (const LessonTextPiece& piece : split_placeholders(text)) {
      const bool is_field = piece.is_name && piece.text != "answer";
      const auto value = is_field ? one_value(piece.text, asked.where, *player_) : words;
      if (!value.ok() && !error) error = value.error();
      if (value.ok()) whole += piece.is_name ? value.value() : piece.text;
    }
    return whole;
  };
  EngineAnswer answer{.words = words.value(), .because = filled(asked.because)};
  for (const LessonMistake& mistake : asked.mistakes)
    answer.mistakes.push_back({.answer = mistake.answer, .words = filled(mistake.words)});
  if (error) return *error;
  return answer;
}

std::optional<std::string> LessonRun::disagreement(std::size_t question) const {
  const Result<EngineAnswer>& engine = answers_[question];
  if (!engine.ok()) return engine.error().message;
  const std::string& stated = part().questions[question].answer;
  if (engine.value().words == stated) return std::nullopt;
  return fmt::format("{}: the lesson says {}, the engine {}", place_of(question), stated,
                     engine.value().words);
}

Result<CheckedAnswer> LessonRun::check(std::size_t question, std::string_view text) const {
  const Result<EngineAnswer>& engine = answers_[question];
  if (!engine.ok()) return engine.error();
  const LessonQuestion& asked = part().questions[question];
  const auto query = BreakQuery::parse(asked.value, asked.where);
  if (!query.ok()) return query.error();
  const BreakField& field = query.value().field();
  const auto answer = canonical_answer(field, text);
  if (!answer)
    return CheckedAnswer{
        AnswerVerdict::unreadable,
        fmt::format("expected {}, found {}", answer_kind(field), quoted_text(text))};
  const auto& [words, because, mistakes] = engine.value();
  if (*answer == words)
    return CheckedAnswer{AnswerVerdict::right, fmt::format("Right: {}. {}", words, because)};
  const auto mistake = std::ranges::find(mistakes, *answer, &LessonMistake::answer);
  const std::string misread = mistake == mistakes.end() ? " " : "\n" + mistake->words + "\n";
  return CheckedAnswer{AnswerVerdict::wrong,
                       fmt::format("Not {} but {}.{}{}", *answer, words, misread, because)};
}

std::vector<LessonProblem> check_lesson(const Lesson& lesson) {
  auto created = LessonRun::create(lesson);
  if (!created.ok())
    return {{.message = fmt::format("{}: {}", lesson.name, created.error().message)}};
  LessonRun& run = created.value();
  std::vector<LessonProblem> problems;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    if (const Status moved = run.go_to_part(p); !moved.ok()) {
      problems.push_back({.part = p + 1, .message = moved.error().message});
      continue;
    }
    for (std::size_t q = 0; q < lesson.parts[p].questions.size(); ++q)
      if (const auto problem = run.disagreement(q))
        problems.push_back({.part = p + 1, .question = q + 1, .message = *problem});
  }
  return problems;
}

namespace {

// The answers of a part's run.
Result<SpokenWords> played(const Lesson& lesson, const LessonPart& part,
                           const std::shared_ptr<const HybridModel>& model) {
  auto plan = plan_lesson(lesson, part);
  if (!plan.ok()) return plan.error();
  auto run = CheckedRun::create(std::move(plan).value(), {.language = {.model = model}});
  if (!run.ok()) return run.error();
  if (const auto driven = drive(run.value(), {}); !driven.ok()) return driven.error();
  return spoken_words(run.value().texts(), model->vocab_size, make_names(run.value().engine()));
}

std::string said_by(const SpokenWords& words, const std::string& request) {
  const auto found = std::ranges::find(words.requests, request);
  if (found == words.requests.end()) return {};
  return said_words(words.texts[static_cast<std::size_t>(found - words.requests.begin())],
                    words.vocab_size);
}

}  // namespace

std::size_t num_sayings(const Lesson& lesson) {
  return std::accumulate(
      lesson.parts.begin(), lesson.parts.end(), std::size_t{0},
      [](std::size_t sum, const LessonPart& part) { return sum + part.says.size(); });
}

std::vector<LessonProblem> check_sayings(const Lesson& lesson,
                                         const std::shared_ptr<const HybridModel>& model) {
  std::vector<LessonProblem> problems;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    const LessonPart& part = lesson.parts[p];
    if (part.says.empty()) continue;
    const std::string place = fmt::format("{}, part {}", lesson.name, p + 1);
    const auto words = played(lesson, part, model);
    if (!words.ok()) {
      problems.push_back(
          {.part = p + 1, .message = fmt::format("{}: {}", place, words.error().message)});
      continue;
    }
    for (const LessonSaying& saying : part.says)
      if (const std::string said = said_by(words.value(), saying.request); said != saying.text)
        problems.push_back(
            {.part = p + 1,
             .message = fmt::format("{}: {} says {} in the lesson, {} in the model", place,
                                    saying.request, quoted_text(saying.text), quoted_text(said))});
  }
  return problems;
}

}  // namespace hybridscope
