#include "sessions/lessons/lesson.h"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/breakpoint/break_condition.h"
#include "sessions/lessons/lesson_files.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// A break error without the lines that mark the place in the expression; the JSON pointer replaces
// them.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

void check_placeholders(const JsonValue& place, std::string_view text) {
  for (const LessonTextPiece& piece : split_placeholders(text)) {
    if (!piece.is_name || piece.text == "answer") continue;
    if (const auto field = BreakQuery::parse(piece.text, "true"); !field.ok())
      place.fail(first_line(field.error().message));
  }
}

void check_expressions(const JsonValue& place, const LessonQuestion& question) {
  const auto report = [&](std::string_view key, const Error& error) {
    place.fail_at(key, first_line(error.message));
  };
  if (const auto value = BreakQuery::parse(question.value, "true"); !value.ok())
    report("value", value.error());
  if (const auto where = BreakQuery::parse("step", question.where); !where.ok())
    report("where", where.error());
  check_placeholders(place.require("because"), question.because);
}

// The answer in the engine's words.
std::string read_answer(const JsonValue& place, const BreakField& field) {
  const bool is_text = place.is_string();
  const std::string text = is_text ? place.string() : place.dump();
  const bool fits = (field.type == BreakType::number && place.is_integer()) ||
                    (field.type == BreakType::flag && place.is_boolean()) ||
                    (field.type == BreakType::word && is_text) ||
                    (field.type == BreakType::request && is_text);
  const auto words = fits ? canonical_answer(field, text) : std::nullopt;
  if (words) return *words;
  place.expected(fmt::format("{} of {}",
                             field.type == BreakType::flag ? "true or false" : answer_kind(field),
                             field.name));
}

// What is wrong with the answer that a mistake is for; empty: nothing.
std::string fault_of_mistake(std::string_view answer, const LessonQuestion& question,
                             const BreakField& field) {
  const auto words = canonical_answer(field, answer);
  if (!words)
    return fmt::format("expected {} of {}, found {}", answer_kind(field), field.name,
                       quoted_text(answer));
  if (*words != answer)
    return fmt::format("expected the answer in the engine's words, {}, found {}",
                       quoted_text(*words), quoted_text(answer));
  if (answer == question.answer)
    return fmt::format("expected a wrong answer, found the right one, {}", quoted_text(answer));
  const auto& choices = question.choices;
  if (!choices.empty() && std::ranges::find(choices, answer) == choices.end())
    return fmt::format("expected one of the choices, found {}", quoted_text(answer));
  return {};
}

void read_mistakes(const JsonValue& place, const BreakField& field, LessonQuestion& question) {
  for (const auto& [answer, words] : place.members()) {
    const LessonMistake mistake{.answer = answer, .words = words.words()};
    if (const auto fault = fault_of_mistake(answer, question, field); !fault.empty())
      words.fail(fault);
    check_placeholders(words, mistake.words);
    question.mistakes.push_back(mistake);
  }
}

void read_choices(const JsonValue& place, const BreakField& field, LessonQuestion& question) {
  for (const JsonValue& choice : place.elements())
    question.choices.push_back(read_answer(choice, field));
  if (question.choices.size() < 2)
    place.fail(fmt::format("{} choices (expected two or more)", question.choices.size()));
  if (std::ranges::find(question.choices, question.answer) == question.choices.end())
    place.fail(fmt::format("the answer {} is none of the choices", quoted_text(question.answer)));
}

// Requires: the question's expressions have been checked.
void read_answers(const JsonValue& place, LessonQuestion& question) {
  const auto query = BreakQuery::parse(question.value, "true");
  const BreakField& field = query.value().field();
  question.answer = read_answer(place.require("answer"), field);
  if (const auto choices = place.find("choices")) read_choices(*choices, field, question);
  if (const auto mistakes = place.find("mistakes")) read_mistakes(*mistakes, field, question);
}

namespace fs = std::filesystem;

constexpr IntegerRange kIndices{.min = 0, .max = INT32_MAX};

std::vector<std::string> read_paragraphs(const JsonValue& place) {
  std::vector<std::string> paragraphs;
  for (const JsonValue& paragraph : place.elements()) {
    paragraphs.push_back(paragraph.words());
  }
  if (paragraphs.empty()) place.fail("no paragraph (expected at least one)");
  return paragraphs;
}

LessonShow read_show(const JsonValue& place, const Scenario& scenario) {
  place.check_keys({"panel", "request", "group", "column", "block"});
  LessonShow show;
  if (const auto panel = place.find("panel")) {
    show.panel = panel->string();
    const auto panels = lesson_panels();
    if (std::ranges::find(panels, show.panel) == panels.end())
      panel->fail(fmt::format("there is no panel {}{}", quoted_text(show.panel),
                              nearest_key_hint(show.panel, {panels.begin(), panels.end()})));
  }
  if (const auto request = place.find("request")) {
    show.request = request->name();
    if (std::ranges::find(scenario.requests, show.request, &ScenarioRequest::id) ==
        scenario.requests.end())
      request->fail(fmt::format("the scenario has no request {}", quoted_text(show.request)));
  }
  show.group = place.int32_at("group", kIndices);
  show.column = place.int32_at("column", kIndices);
  show.block = place.int32_at("block", kIndices);
  return show;
}

// The part's settings must fit the scenario.
void check_settings(const JsonValue& place, const Lesson& lesson, const LessonPart& part) {
  if (const Status checked = check_scenario(scenario_of(lesson, part)); !checked.ok())
    place.fail(checked.error().message);
}

// {"A": "what it says"}; also as a paragraph.
void read_says(const JsonValue& place, const Scenario& scenario, LessonPart& part) {
  std::string words;
  for (const auto& [request, text] : place.members()) {
    if (std::ranges::find(scenario.requests, request, &ScenarioRequest::id) ==
        scenario.requests.end())
      text.fail(fmt::format("the scenario has no request {}", quoted_text(request)));
    part.says.push_back({request, text.string()});
    words += fmt::format("{}{} says {}", words.empty() ? "" : ", ", request,
                         quoted_text(part.says.back().text));
  }
  if (part.says.empty()) place.fail("no request (expected at least one)");
  part.text.push_back(fmt::format("The language model on these decisions: {}.", words));
}

LessonPart read_part(const JsonValue& place, const Lesson& lesson) {
  place.check_keys({"step", "predict", "settings", "text", "says", "show", "questions"});
  LessonPart part;
  part.step = place.require("step").int64({1, kMaxStep});
  part.predict = place.boolean_at("predict").value_or(part.predict);
  if (const auto settings = place.find("settings")) {
    part.settings = read_changed_settings(*settings);
    check_settings(*settings, lesson, part);
  }
  part.text = read_paragraphs(place.require("text"));
  if (const auto says = place.find("says")) read_says(*says, lesson.scenario, part);
  if (const auto show = place.find("show")) part.show = read_show(*show, lesson.scenario);
  if (const auto questions = place.find("questions"))
    for (const JsonValue& question : questions->elements())
      part.questions.push_back(read_lesson_question(question));
  return part;
}

void read_version(const JsonValue& top) {
  const JsonValue version = top.require("version");
  if (version.whole() != kLessonVersion)
    version.fail(fmt::format("version is {} (this program reads version {})", version.describe(),
                             kLessonVersion));
}

std::string read_path(const JsonValue& place) {
  std::string path = place.string();
  if (path.empty()) place.expected("an object or a path");
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    place.fail("a control character in a path (expected printable text)");
  return path;
}

// Either an object, or the path of a file relative to the lesson's folder.
Result<Scenario> read_its_scenario(const JsonValue& place, const ReadText& read,
                                   const std::string& file, std::string& scenario_file) {
  if (!place.is_string()) {
    scenario_file = file;
    return read_inner_scenario(place);
  }
  const auto path = fs::path(file).parent_path() / read_path(place);
  scenario_file = path.lexically_normal().generic_string();
  const auto text = read(scenario_file);
  if (!text.ok())
    return Error{text.error().kind,
                 fmt::format("{}: {}: {}", file, place.pointer(), text.error().message)};
  return parse_scenario({.text = text.value(), .file = scenario_file});
}

}  // namespace

LessonQuestion read_lesson_question(const JsonValue& place) {
  place.check_keys({"ask", "value", "where", "answer", "choices", "because", "mistakes"});
  LessonQuestion question;
  question.ask = place.require("ask").words();
  question.value = place.require("value").words();
  question.where = place.string_at("where").value_or("true");
  question.because = place.require("because").words();
  check_expressions(place, question);
  read_answers(place, question);
  return question;
}

Result<Lesson> parse_lesson(const LessonText& lesson_text, const ReadText& read) {
  const auto json = parse_json({.text = lesson_text.text, .file = lesson_text.file});
  if (!json.ok()) return json.error();
  const std::string file(lesson_text.file);
  const JsonValue top(json.value());
  return read_json(file, [&]() -> Result<Lesson> {
    top.check_keys({"version", "title", "teaches", "scenario", "parts"});
    read_version(top);
    Lesson lesson;
    lesson.name = fs::path(file).stem().string();
    lesson.title = top.require("title").words();
    lesson.teaches = top.require("teaches").words();
    const JsonValue place = top.require("scenario");
    const JsonValue parts = top.require("parts");
    auto scenario = read_its_scenario(place, read, file, lesson.scenario_file);
    if (!scenario.ok()) return scenario.error();
    lesson.scenario = std::move(scenario).value();
    if (lesson.scenario.name.empty()) lesson.scenario.name = lesson.name;
    for (const JsonValue& part : parts.elements()) lesson.parts.push_back(read_part(part, lesson));
    if (lesson.parts.empty()) parts.fail("no part (expected at least one)");
    return lesson;
  });
}

Result<Lesson> read_lesson_file(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_lesson({.text = text.value(), .file = path}, read_text_file);
}

namespace {

constexpr std::string_view kFolder = "scenarios/";
constexpr std::string_view kLessons = "lessons/";
constexpr std::string_view kSuffix = ".json";

// The text of a file under scenarios/; null if there is none.
const EmbeddedFile* find_file(std::string_view path) {
  const auto file = std::ranges::find(lesson_files::kFiles, path, &EmbeddedFile::path);
  return file == lesson_files::kFiles.end() ? nullptr : &*file;
}

Result<std::string> read_embedded(const std::string& path) {
  const std::string_view name = path;
  if (name.starts_with(kFolder))
    if (const EmbeddedFile* file = find_file(name.substr(kFolder.size())))
      return std::string(file->text);
  return Error{ErrorKind::not_found, fmt::format("{}: is not a shipped scenario", path)};
}

Error no_such(std::string_view what, std::string_view name,
              const std::vector<std::string_view>& names) {
  return {ErrorKind::not_found,
          fmt::format("there is no {} {}{} (there are {})", what, quoted_text(name),
                      nearest_key_hint(name, names), fmt::join(names, ", "))};
}

}  // namespace

std::vector<std::string_view> shipped_lesson_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : lesson_files::kFiles) {
    std::string_view name = file.path;
    if (!name.starts_with(kLessons)) continue;
    name.remove_prefix(kLessons.size());
    name.remove_suffix(kSuffix.size());
    names.push_back(name);
  }
  return names;
}

Result<Lesson> shipped_lesson(std::string_view name) {
  const EmbeddedFile* file = find_file(fmt::format("{}{}{}", kLessons, name, kSuffix));
  if (file != nullptr)
    return parse_lesson({.text = file->text, .file = fmt::format("{}{}", kFolder, file->path)},
                        read_embedded);
  return no_such("lesson", name, shipped_lesson_names());
}

std::vector<std::string_view> shipped_scenario_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : lesson_files::kFiles)
    if (!file.path.starts_with(kLessons))
      names.push_back(file.path.substr(0, file.path.size() - kSuffix.size()));
  std::sort(names.begin(), names.end());
  return names;
}

Result<Scenario> shipped_scenario(std::string_view name) {
  const EmbeddedFile* file = find_file(fmt::format("{}{}", name, kSuffix));
  if (file == nullptr) return no_such("shipped scenario", name, shipped_scenario_names());
  return parse_scenario({.text = file->text, .file = fmt::format("{}{}", kFolder, file->path)});
}

}  // namespace hybridscope
