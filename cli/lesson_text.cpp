#include "cli/lessons_command.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "cli/process.h"
#include "cli/step_table.h"
#include "sessions/job/version.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kTextColumns = 100;
constexpr std::size_t kMaxText = 4000;

}  // namespace

std::string wrapped_lines(std::string_view text) {
  return wrap_words(one_line(text, kMaxText), kTextColumns) + "\n";
}

std::string format_lesson_heading(const Lesson& lesson) {
  return wrapped_lines(fmt::format("{}: {}", lesson.name, lesson.title)) +
         wrapped_lines(lesson.teaches);
}

std::string format_lesson_part(const Lesson& lesson, std::size_t part) {
  const LessonPart& shown = lesson.parts[part];
  std::string text = fmt::format("Part {} of {}: step {}{}\n", part + 1, lesson.parts.size(),
                                 shown.step, shown.predict ? ", questions first" : "");
  if (!(shown.settings == EngineSettings{}))
    text += wrapped_lines("with settings " + settings_to_json(shown.settings).dump());
  for (const std::string& paragraph : shown.text) text += "\n" + wrapped_lines(paragraph);
  return text;
}

std::string format_lesson_question(const LessonQuestion& question, std::size_t number) {
  std::string text = wrapped_lines(fmt::format("Question {}: {}", number, question.ask));
  if (!question.choices.empty())
    text += wrapped_lines(fmt::format("One of: {}", fmt::join(question.choices, ", ")));
  return text;
}

std::string format_lesson_reply(std::string_view words) {
  std::string text;
  for (const std::string_view line : split_text(words, '\n')) text += wrapped_lines(line);
  return text;
}

namespace {

// The stored answer, the source of the engine's answer, and the reason and what is said to foreseen
// mistakes if the engine has an answer.
std::string format_answer(const LessonRun& run, std::size_t index) {
  const LessonQuestion& question = run.part().questions[index];
  const std::string where = question.where == "true" ? "" : " where " + question.where;
  std::string text = wrapped_lines(
      fmt::format("Answer: {}, that is {}{}", question.answer, question.value, where));
  if (const auto problem = run.disagreement(index)) return text + wrapped_lines(*problem);
  const EngineAnswer& engine = run.answer_of(index).value();
  text += wrapped_lines(engine.because);
  for (const LessonMistake& mistake : engine.mistakes)
    text += wrapped_lines(fmt::format("If {} is answered: {}", mistake.answer, mistake.words));
  return text;
}

}  // namespace

std::string format_lesson(const Lesson& lesson) {
  std::string text = format_lesson_heading(lesson);
  std::size_t number = 0;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    text += "\n" + format_lesson_part(lesson, p);
    for (const LessonQuestion& question : lesson.parts[p].questions)
      text += "\n" + format_lesson_question(question, ++number);
  }
  return text;
}

Result<std::string> format_lesson_with_answers(LessonRun& run) {
  const Lesson& lesson = run.lesson();
  std::string text = format_lesson_heading(lesson);
  std::size_t number = 0;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    if (Status moved = run.go_to_part(p); !moved.ok()) return moved.error();
    text += "\n" + format_lesson_part(lesson, p);
    for (std::size_t q = 0; q < lesson.parts[p].questions.size(); ++q)
      text += "\n" + format_lesson_question(lesson.parts[p].questions[q], ++number) +
              format_answer(run, q);
  }
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr IntegerRange kQuestions{.min = 0, .max = 1'000'000};

std::vector<AnswerState> answers_of(const std::string& text) {
  std::vector<AnswerState> answers;
  for (const char letter : text)
    answers.push_back(letter == 'r'   ? AnswerState::right
                      : letter == 'w' ? AnswerState::wrong
                                      : AnswerState::open);
  return answers;
}

std::map<std::string, LessonPlace> read_places(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text.ok()) return {};
  const auto json = parse_json({.text = text.value(), .file = path});
  if (!json.ok()) return {};
  const auto places = read_json(path, [&] {
    std::map<std::string, LessonPlace> read;
    for (const auto& [lesson, place] : JsonValue(json.value()).members()) {
      place.check_keys({"question", "answers"});
      const std::int64_t question = place.int64_at("question", kQuestions).value_or(0);
      read[lesson] = {.question = static_cast<std::size_t>(question),
                      .answers = answers_of(place.string_at("answers").value_or(""))};
    }
    return read;
  });
  return places.ok() ? places.value() : std::map<std::string, LessonPlace>();
}

}  // namespace

std::string lesson_progress_path(const EnvironmentLookup& lookup) {
  std::string folder = lookup("XDG_STATE_HOME");
  if (!folder.starts_with('/')) {
    folder = lookup("HOME");
    if (!folder.starts_with('/')) return {};
    folder += "/.local/state";
  }
  return folder + "/hybridscope/lessons.json";
}

LessonProgress::LessonProgress(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) places_ = read_places(path_);
}

LessonPlace LessonProgress::of(const std::string& lesson, std::size_t num_questions) const {
  const auto place = places_.find(lesson);
  if (place == places_.end() || place->second.question >= num_questions ||
      place->second.answers.size() != num_questions)
    return {.question = 0, .answers = std::vector<AnswerState>(num_questions, AnswerState::open)};
  return place->second;
}

Status LessonProgress::keep(const std::string& lesson, const LessonPlace& place) {
  if (path_.empty()) return Ok{};
  const bool is_under_way = place.question > 0 && place.question < place.answers.size();
  if (!is_under_way && !places_.contains(lesson)) return Ok{};
  if (is_under_way)
    places_[lesson] = place;
  else
    places_.erase(lesson);
  Json json = Json::object();
  for (const auto& [name, at] : places_) {
    std::string letters;
    for (const AnswerState answer : at.answers) letters += static_cast<char>(answer);
    json[name] = {{"question", at.question}, {"answers", letters}};
  }
  std::error_code ignored;  // writing says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  return write_output_file(path_, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

namespace {

constexpr std::size_t kHeadBytes = 1024;

// Pages are named like their lessons.
Status check_names(const std::vector<Lesson>& lessons) {
  std::set<std::string> names = {"index"};
  for (const Lesson& lesson : lessons)
    if (!names.insert(lesson.name).second)
      return invalid_input(
          fmt::format("two pages would be {0}.html, expected lessons with names "
                      "that differ and are not index",
                      lesson.name));
  return Ok{};
}

// Is the place free, or that of a file from an earlier export?
Status check_place(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Ok{};
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.find(kLessonSiteMark) != std::string::npos) return Ok{};
  return Error{ErrorKind::not_available,
               fmt::format("{}: there is a file of that name which no export of lessons wrote; "
                           "nothing was written, expected an empty folder or an earlier export",
                           path)};
}

}  // namespace

Status write_lesson_site(MakeLessonSite make, std::vector<Lesson> lessons,
                         const std::string& folder) {
  if (Status fit = check_names(lessons); !fit.ok()) return fit;
  Progress progress;
  const std::size_t num_lessons = lessons.size();
  std::size_t done = 0;
  const auto site =
      make({.lessons = std::move(lessons),
            .program = fmt::format("hybridscope {}", kVersion),
            .on_lesson = [&](const Lesson& lesson) {
              progress.show([&] {
                return fmt::format("lesson {} of {}: {}", done + 1, num_lessons, lesson.name);
              });
              ++done;
              return !was_interrupted();
            }});
  progress.clear();
  if (!site.ok()) return site.error();
  auto made = MadeFolder::make(folder);
  if (!made.ok()) return made.error();
  OutputFolder out(std::move(made).value());
  for (const SiteFile& file : site.value())
    if (Status free = check_place(out.path_of(file.name)); !free.ok()) return free;
  for (const SiteFile& file : site.value())
    if (Status written = out.write(file.name, file.text); !written.ok()) return written;
  out.keep();
  return Ok{};
}

}  // namespace hybridscope
