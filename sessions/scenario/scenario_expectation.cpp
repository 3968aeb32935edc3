#include "sessions/scenario/scenario_expectation.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

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

}  // namespace

Expectation read_expectation(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(place, {"findings", "steps", "finished"}, errors);
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
  return json;
}

}  // namespace hybridscope
