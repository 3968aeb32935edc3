#include "sessions/lessons/lesson_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/breakpoint/break_query.h"
#include "sessions/lessons/lesson_answer.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

namespace {

// A break error without the lines that mark the place in the expression; the JSON pointer replaces
// them.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

void check_placeholders(const std::string& pointer, std::string_view text, JsonErrors& errors) {
  for (const LessonTextPiece& piece : split_placeholders(text)) {
    if (!piece.is_name || piece.text == "answer") continue;
    if (const auto field = BreakQuery::parse(piece.text, "true"); !field.ok())
      errors.fail(pointer, first_line(field.error().message));
  }
}

void check_expressions(const JsonPlace& place, const LessonQuestion& question, JsonErrors& errors) {
  const auto report = [&](std::string_view key, const Error& error) {
    errors.fail(child_pointer(place.pointer, key), first_line(error.message));
  };
  if (const auto value = BreakQuery::parse(question.value, "true"); !value.ok())
    report("value", value.error());
  if (const auto where = BreakQuery::parse("step", question.where); !where.ok())
    report("where", where.error());
  check_placeholders(child_pointer(place.pointer, "because"), question.because, errors);
}

// The answer in the engine's words.
std::string read_answer(const JsonPlace& place, const BreakField& field, JsonErrors& errors) {
  const nlohmann::json& value = *place.value;
  const bool is_text = value.is_string();
  std::string text = is_text ? value.get<std::string>() : value.dump();
  const bool fits = (field.type == BreakType::number && value.is_number_integer()) ||
                    (field.type == BreakType::flag && value.is_boolean()) ||
                    (field.type == BreakType::word && is_text) ||
                    (field.type == BreakType::request && is_text);
  const auto words = fits ? canonical_answer(field, text) : std::nullopt;
  if (words) return *words;
  errors.fail(place.pointer,
              fmt::format("expected {} of {}, found {}",
                          field.type == BreakType::flag ? "true or false" : answer_kind(field),
                          field.name, describe_json(value)));
  return {};
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

void read_mistakes(const JsonPlace& place, const BreakField& field, LessonQuestion& question,
                   JsonErrors& errors) {
  for (const auto& [answer, words] : read_members(place, errors)) {
    const LessonMistake mistake{.answer = answer, .words = read_string(words, errors)};
    if (mistake.words.empty()) errors.fail(words.pointer, "expected text, found \"\"");
    if (const auto fault = fault_of_mistake(answer, question, field); !fault.empty())
      errors.fail(words.pointer, fault);
    check_placeholders(words.pointer, mistake.words, errors);
    question.mistakes.push_back(mistake);
  }
}

void read_choices(const JsonPlace& place, const BreakField& field, LessonQuestion& question,
                  JsonErrors& errors) {
  for (const JsonPlace& choice : read_array(place, errors))
    question.choices.push_back(read_answer(choice, field, errors));
  if (question.choices.size() < 2)
    errors.fail(place.pointer,
                fmt::format("{} choices (expected two or more)", question.choices.size()));
  if (std::ranges::find(question.choices, question.answer) == question.choices.end())
    errors.fail(place.pointer,
                fmt::format("the answer {} is none of the choices", quoted_text(question.answer)));
}

void read_answers(const ObjectReader& reader, LessonQuestion& question, JsonErrors& errors) {
  const auto query = BreakQuery::parse(question.value, "true");
  if (!query.ok()) return;  // the error has been reported
  const BreakField& field = query.value().field();
  if (const auto answer = reader.require("answer"))
    question.answer = read_answer(*answer, field, errors);
  if (const auto choices = reader.find("choices")) read_choices(*choices, field, question, errors);
  if (const auto mistakes = reader.find("mistakes"))
    read_mistakes(*mistakes, field, question, errors);
}

namespace fs = std::filesystem;

constexpr std::int64_t kMaxIndex = INT32_MAX;

std::vector<std::string> read_paragraphs(const JsonPlace& place, JsonErrors& errors) {
  std::vector<std::string> paragraphs;
  for (const JsonPlace& paragraph : read_array(place, errors)) {
    paragraphs.push_back(read_string(paragraph, errors));
    if (paragraphs.back().empty()) errors.fail(paragraph.pointer, "expected text, found \"\"");
  }
  if (paragraphs.empty()) errors.fail(place.pointer, "no paragraph (expected at least one)");
  return paragraphs;
}

LessonShow read_show(const JsonPlace& place, const Scenario& scenario, JsonErrors& errors) {
  const ObjectReader reader(place, {"panel", "request", "group", "column", "block"}, errors);
  LessonShow show;
  if (const auto panel = reader.find("panel")) {
    show.panel = read_string(*panel, errors);
    const auto panels = lesson_panels();
    if (std::ranges::find(panels, show.panel) == panels.end())
      errors.fail(panel->pointer,
                  fmt::format("there is no panel {}{}", quoted_text(show.panel),
                              nearest_key_hint(show.panel, {panels.begin(), panels.end()})));
  }
  if (const auto request = reader.find("request")) {
    show.request = read_name(*request, errors);
    if (std::ranges::find(scenario.requests, show.request, &ScenarioRequest::id) ==
        scenario.requests.end())
      errors.fail(request->pointer,
                  fmt::format("the scenario has no request {}", quoted_text(show.request)));
  }
  const auto index = [&](std::string_view key) -> std::optional<std::int32_t> {
    const auto value = reader.integer(key, {0, kMaxIndex});
    if (!value) return std::nullopt;
    return static_cast<std::int32_t>(*value);
  };
  show.group = index("group");
  show.column = index("column");
  show.block = index("block");
  return show;
}

// The part's settings must fit the scenario.
void check_settings(const JsonPlace& place, const Lesson& lesson, const LessonPart& part,
                    JsonErrors& errors) {
  if (errors.failed()) return;
  if (const Status checked = check_scenario(scenario_of(lesson, part)); !checked.ok())
    errors.fail(place.pointer, checked.error().message);
}

// {"A": "what it says"}; also as a paragraph.
void read_says(const JsonPlace& place, const Scenario& scenario, LessonPart& part,
               JsonErrors& errors) {
  std::string words;
  for (const auto& [request, text] : read_members(place, errors)) {
    if (std::ranges::find(scenario.requests, request, &ScenarioRequest::id) ==
        scenario.requests.end())
      errors.fail(text.pointer,
                  fmt::format("the scenario has no request {}", quoted_text(request)));
    part.says.push_back({request, read_string(text, errors)});
    words += fmt::format("{}{} says {}", words.empty() ? "" : ", ", request,
                         quoted_text(part.says.back().text));
  }
  if (part.says.empty()) errors.fail(place.pointer, "no request (expected at least one)");
  part.text.push_back(fmt::format("The language model on these decisions: {}.", words));
}

LessonPart read_part(const JsonPlace& place, const Lesson& lesson, JsonErrors& errors) {
  const ObjectReader reader(
      place, {"step", "predict", "settings", "text", "says", "show", "questions"}, errors);
  LessonPart part;
  if (reader.require("step")) part.step = reader.integer("step", {1, kMaxStep}).value_or(1);
  if (const auto predict = reader.find("predict")) part.predict = read_boolean(*predict, errors);
  if (const auto settings = reader.find("settings")) {
    part.settings = read_changed_settings(*settings, errors);
    check_settings(*settings, lesson, part, errors);
  }
  if (const auto text = reader.require("text")) part.text = read_paragraphs(*text, errors);
  if (const auto says = reader.find("says")) read_says(*says, lesson.scenario, part, errors);
  if (const auto show = reader.find("show")) part.show = read_show(*show, lesson.scenario, errors);
  if (const auto questions = reader.find("questions"))
    for (const JsonPlace& question : read_array(*questions, errors))
      part.questions.push_back(read_lesson_question(question, errors));
  return part;
}

void read_version(const ObjectReader& reader, JsonErrors& errors) {
  const auto version = reader.require("version");
  if (version && *version->value != kLessonVersion)
    errors.fail(version->pointer, fmt::format("version is {} (this program reads version {})",
                                              describe_json(*version->value), kLessonVersion));
}

std::string read_path(const JsonPlace& place, JsonErrors& errors) {
  std::string path = read_string(place, errors);
  if (path.empty()) errors.fail(place.pointer, "expected an object or a path, found \"\"");
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    errors.fail(place.pointer, "a control character in a path (expected printable text)");
  return path;
}

// Either an object, or the path of a file relative to the lesson's folder.
Result<Scenario> read_its_scenario(const JsonPlace& place, const ReadText& read,
                                   const std::string& file, std::string& scenario_file) {
  if (!place.value->is_string()) {
    scenario_file = file;
    return read_inner_scenario(place, file);
  }
  JsonErrors errors(file);
  const std::string name = read_path(place, errors);
  if (errors.failed()) return errors.error();
  const auto path = fs::path(file).parent_path() / name;
  scenario_file = path.lexically_normal().generic_string();
  const auto text = read(scenario_file);
  if (!text.ok())
    return Error{text.error().kind,
                 fmt::format("{}: {}: {}", file, place.pointer, text.error().message)};
  return parse_scenario({.text = text.value(), .file = scenario_file});
}

std::string required_text(const ObjectReader& reader, std::string_view key, JsonErrors& errors) {
  const auto place = reader.require(key);
  std::string text = place ? read_string(*place, errors) : std::string();
  if (place && text.empty()) errors.fail(place->pointer, "expected text, found \"\"");
  return text;
}

}  // namespace

LessonQuestion read_lesson_question(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(
      place, {"ask", "value", "where", "answer", "choices", "because", "mistakes"}, errors);
  LessonQuestion question;
  const auto text = [&](std::string_view key) {
    const auto found = reader.require(key);
    std::string words = found ? read_string(*found, errors) : std::string();
    if (found && words.empty()) errors.fail(found->pointer, "expected text, found \"\"");
    return words;
  };
  question.ask = text("ask");
  question.value = text("value");
  question.where = reader.string("where").value_or("true");
  question.because = text("because");
  if (errors.failed()) return question;
  check_expressions(place, question, errors);
  if (!errors.failed()) read_answers(reader, question, errors);
  return question;
}

Result<Lesson> parse_lesson(const LessonText& lesson_text, const ReadText& read) {
  const auto json = parse_json({.text = lesson_text.text, .file = lesson_text.file});
  if (!json.ok()) return json.error();
  const std::string file(lesson_text.file);
  JsonErrors errors(file);
  const ObjectReader reader({&json.value(), ""},
                            {"version", "title", "teaches", "scenario", "parts"}, errors);
  read_version(reader, errors);
  Lesson lesson;
  lesson.name = fs::path(file).stem().string();
  lesson.title = required_text(reader, "title", errors);
  lesson.teaches = required_text(reader, "teaches", errors);
  const auto place = reader.require("scenario");
  const auto parts = reader.require("parts");
  if (errors.failed()) return errors.error();
  auto scenario = read_its_scenario(*place, read, file, lesson.scenario_file);
  if (!scenario.ok()) return scenario.error();
  lesson.scenario = std::move(scenario).value();
  if (lesson.scenario.name.empty()) lesson.scenario.name = lesson.name;
  for (const JsonPlace& part : read_array(*parts, errors))
    lesson.parts.push_back(read_part(part, lesson, errors));
  if (lesson.parts.empty()) errors.fail("/parts", "no part (expected at least one)");
  if (errors.failed()) return errors.error();
  return lesson;
}

Result<Lesson> read_lesson_file(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_lesson({.text = text.value(), .file = path}, read_text_file);
}

}  // namespace hybridscope
