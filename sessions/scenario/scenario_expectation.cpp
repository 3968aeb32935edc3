#include "sessions/scenario/scenario_expectation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::vector<ExpectedFinding> read_findings(const JsonValue& place) {
  std::vector<ExpectedFinding> findings;
  for (const JsonValue& element : place.elements()) {
    element.check_keys({"rule", "step", "request"});
    ExpectedFinding expected;
    expected.rule = element.require("rule").name();
    expected.step = element.int32_at("step", {1, kMaxStep});
    expected.request = element.string_at("request");
    findings.push_back(std::move(expected));
  }
  return findings;
}

std::optional<Release> read_release(const JsonValue& object, std::string_view key) {
  const auto name = object.string_at(key);
  if (!name) return std::nullopt;
  const auto release = parse_release(*name);
  if (!release)
    object.fail_at(key, fmt::format("there is no release {} ({})", quoted_text(*name),
                                    fmt::join(release_names(), ", ")));
  return release;
}

std::vector<ExpectedBug> read_known_bugs(const JsonValue& place) {
  std::vector<ExpectedBug> bugs;
  for (const JsonValue& element : place.elements()) {
    element.check_keys({"bug", "first", "last"});
    ExpectedBug expected;
    const JsonValue bug = element.require("bug");
    const auto found = find_known_bug(bug.name());
    if (!found.ok()) bug.fail(found.error().message);
    expected.id = found.value()->id;
    expected.first = read_release(element, "first");
    expected.last = read_release(element, "last");
    bugs.push_back(std::move(expected));
  }
  return bugs;
}

}  // namespace

Expectation read_expectation(const JsonValue& place) {
  place.check_keys({"findings", "steps", "finished", "known_bugs"});
  Expectation expect;
  if (const auto findings = place.find("findings")) {
    expect.findings.emplace();
    if (!findings->is_string())
      expect.findings = read_findings(*findings);
    else if (findings->text() != "none")
      findings->expected("\"none\" or an array");
  }
  expect.steps = place.int32_at("steps", {0, kMaxStep});
  expect.finished = place.int32_at("finished", {0, kMaxStep});
  if (const auto bugs = place.find("known_bugs")) expect.known_bugs = read_known_bugs(*bugs);
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
