#include "sessions/lessons/lesson_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/lessons/lesson_question_reader.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {
namespace {

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

// What the part changes has to fit the scenario.
void check_settings(const JsonPlace& place, const Lesson& lesson, const LessonPart& part,
                    JsonErrors& errors) {
  if (errors.failed()) return;
  if (const Status checked = check_scenario(scenario_of(lesson, part)); !checked.ok())
    errors.fail(place.pointer, checked.error().message);
}

LessonPart read_part(const JsonPlace& place, const Lesson& lesson, JsonErrors& errors) {
  const ObjectReader reader(place, {"step", "predict", "settings", "text", "show", "questions"},
                            errors);
  LessonPart part;
  if (reader.require("step")) part.step = reader.integer("step", {1, kMaxStep}).value_or(1);
  if (const auto predict = reader.find("predict")) part.predict = read_boolean(*predict, errors);
  if (const auto settings = reader.find("settings")) {
    part.settings = read_changed_settings(*settings, errors);
    check_settings(*settings, lesson, part, errors);
  }
  if (const auto text = reader.require("text")) part.text = read_paragraphs(*text, errors);
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

// Either an object, or the path of a file beside the lesson.
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
