#include "sessions/known_bugs/bug_exhibit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/known_bugs/bug_files.h"
#include "sessions/known_bugs/left_out_bugs.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {
namespace {

constexpr std::size_t kSentences = 3;
constexpr std::string_view kFolder = "scenarios/bugs/";

std::string text_of(const ObjectReader& reader, std::string_view key, JsonErrors& errors) {
  const auto place = reader.require(key);
  std::string text = place ? read_string(*place, errors) : std::string();
  if (place && text.empty()) errors.fail(place->pointer, "expected text, found \"\"");
  return text;
}

std::vector<std::string> texts_of(const ObjectReader& reader, std::string_view key,
                                  JsonErrors& errors) {
  std::vector<std::string> texts;
  if (const auto place = reader.require(key))
    for (const JsonPlace& element : read_array(*place, errors))
      texts.push_back(read_string(element, errors));
  return texts;
}

// A number that has no entry is answered with the reason.
Error left_out_or(std::string_view name, const Error& unknown) {
  for (const LeftOutBug& bug : left_out_bugs())
    if (bug.id == name || std::to_string(bug.number) == name)
      return {ErrorKind::not_found,
              fmt::format("known bug {} ({}) has no entry: {}", bug.number, bug.id, bug.reason)};
  return unknown;
}

void check_scenario_of(const Scenario& scenario, JsonErrors& errors) {
  if (!scenario.expect.findings || scenario.expect.findings->empty())
    errors.fail("/scenario/expect", "expects no finding (expected what the bug does)");
  if (scenario.settings.engine || scenario.settings.policies != PolicyOverrides{})
    errors.fail("/scenario/settings",
                "sets a profile or policies (expected those of safe, which the bug changes)");
}

}  // namespace

Scenario faulty_scenario(const BugExhibit& exhibit) {
  Scenario scenario = exhibit.scenario;
  scenario.settings.policies = policies_of(std::array{exhibit.bug});
  return scenario;
}

Scenario healthy_scenario(const BugExhibit& exhibit) {
  Scenario scenario = exhibit.scenario;
  scenario.expect.findings.emplace();
  return scenario;
}

Result<BugExhibit> parse_bug(const BugText& bug) {
  const auto json = parse_json({.text = bug.text, .file = bug.file});
  if (!json.ok()) return json.error();
  const std::string file(bug.file);
  BugExhibit exhibit;
  const auto row = find_known_bug(std::filesystem::path(file).stem().string());
  if (!row.ok()) return Error{row.error().kind, fmt::format("{}: {}", file, row.error().message)};
  exhibit.bug = row.value();
  JsonErrors errors(file);
  const ObjectReader reader(
      {&json.value(), ""},
      {"title", "upstream", "function", "dates", "users_saw", "mechanism", "scenario"}, errors);
  exhibit.title = text_of(reader, "title", errors);
  exhibit.upstream = texts_of(reader, "upstream", errors);
  exhibit.function = text_of(reader, "function", errors);
  exhibit.dates = reader.string("dates").value_or("");
  exhibit.users_saw = text_of(reader, "users_saw", errors);
  exhibit.mechanism = texts_of(reader, "mechanism", errors);
  if (exhibit.mechanism.size() != kSentences)
    errors.fail("/mechanism",
                fmt::format("{} sentences (expected {})", exhibit.mechanism.size(), kSentences));
  const auto place = reader.require("scenario");
  if (errors.failed()) return errors.error();
  auto scenario = read_inner_scenario(*place, file);
  if (!scenario.ok()) return scenario.error();
  exhibit.scenario = std::move(scenario).value();
  exhibit.scenario.name = exhibit.bug->id;
  check_scenario_of(exhibit.scenario, errors);
  if (errors.failed()) return errors.error();
  return exhibit;
}

Result<BugExhibit> shipped_bug(std::string_view name) {
  const auto row = find_known_bug(name);
  if (!row.ok()) return left_out_or(name, row.error());
  const std::string path = fmt::format("{}.json", row.value()->id);
  const auto file = std::ranges::find(bug_files::kFiles, path, &EmbeddedFile::path);
  if (file == bug_files::kFiles.end())
    return Error{ErrorKind::not_found, fmt::format("{}{}: is not built in", kFolder, path)};
  return parse_bug({.text = file->text, .file = fmt::format("{}{}", kFolder, path)});
}

}  // namespace hybridscope
