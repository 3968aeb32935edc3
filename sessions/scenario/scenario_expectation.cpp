#include "sessions/scenario/scenario_expectation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::vector<ExpectedFinding> read_findings(const JsonPlace& place, JsonErrors& errors) {
  std::vector<ExpectedFinding> findings;
  for (const JsonPlace& element : read_array(place, errors)) {
    const ObjectReader reader(element, {"rule", "step", "request"}, errors);
    ExpectedFinding expected;
    if (const auto rule = reader.require("rule")) expected.rule = read_name(*rule, errors);
    if (const auto step = reader.integer("step", {1, kMaxStep}))
      expected.step = static_cast<std::int32_t>(*step);
    expected.request = reader.string("request");
    findings.push_back(std::move(expected));
  }
  return findings;
}

std::optional<Release> read_release(const ObjectReader& reader, std::string_view key,
                                    JsonErrors& errors) {
  const auto name = reader.string(key);
  if (!name) return std::nullopt;
  const auto release = parse_release(*name);
  if (!release)
    errors.fail(child_pointer(reader.pointer(), key),
                fmt::format("there is no release {} ({})", quoted_text(*name),
                            fmt::join(release_names(), ", ")));
  return release;
}

std::vector<ExpectedBug> read_known_bugs(const JsonPlace& place, JsonErrors& errors) {
  std::vector<ExpectedBug> bugs;
  for (const JsonPlace& element : read_array(place, errors)) {
    const ObjectReader reader(element, {"bug", "first", "last"}, errors);
    ExpectedBug expected;
    if (const auto bug = reader.require("bug")) {
      const auto found = find_known_bug(read_name(*bug, errors));
      if (!found.ok()) errors.fail(bug->pointer, found.error().message);
      if (found.ok()) expected.id = found.value()->id;
    }
    expected.first = read_release(reader, "first", errors);
    expected.last = read_release(reader, "last", errors);
    bugs.push_back(std::move(expected));
  }
  return bugs;
}

}  // namespace

Expectation read_expectation(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(place, {"findings", "steps", "finished", "known_bugs"}, errors);
  Expectation expect;
  if (const auto findings = reader.find("findings")) {
    expect.findings.emplace();
    if (!findings->value->is_string())
      expect.findings = read_findings(*findings, errors);
    else if (*findings->value != "none")
      errors.fail(findings->pointer, fmt::format("expected \"none\" or an array, found {}",
                                                 describe_json(*findings->value)));
  }
  if (const auto steps = reader.integer("steps", {0, kMaxStep}))
    expect.steps = static_cast<std::int32_t>(*steps);
  if (const auto finished = reader.integer("finished", {0, kMaxStep}))
    expect.finished = static_cast<std::int32_t>(*finished);
  if (const auto bugs = reader.find("known_bugs"))
    expect.known_bugs = read_known_bugs(*bugs, errors);
  return expect;
}

nlohmann::ordered_json expectation_to_json(const Expectation& expect) {
  Json json = Json::object();
  if (expect.findings) {
    json["findings"] = expect.findings->empty() ? Json("none") : Json::array();
    for (const ExpectedFinding& finding : *expect.findings) {
      Json element = {{"rule", finding.rule}};
      if (finding.step) element["step"] = *finding.step;
      if (finding.request) element["request"] = *finding.request;
      json["findings"].push_back(std::move(element));
    }
  }
  if (expect.steps) json["steps"] = *expect.steps;
  if (expect.finished) json["finished"] = *expect.finished;
  for (const ExpectedBug& bug : expect.known_bugs) {
    Json element = {{"bug", bug.id}};
    if (bug.first) element["first"] = release_name(*bug.first);
    if (bug.last) element["last"] = release_name(*bug.last);
    json["known_bugs"].push_back(std::move(element));
  }
  return json;
}

}  // namespace hybridscope
