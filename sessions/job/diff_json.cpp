#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sessions/job/diff_report.h"
#include "sessions/record/step_record.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json value_to_json(const DiffValue& value) {
  switch (value.kind) {
    case DiffValueKind::absent: return nullptr;
    case DiffValueKind::number: return value.number;
    case DiffValueKind::flag: return value.number != 0;
    default: return value.text();
  }
}

Json side_to_json(const DiffReportSide& side) {
  return {{"title", side.title}, {"level", record_level_name(side.level)}};
}

Json step_to_json(const CollectedStep& step) {
  Json json = Json::object();
  json["step"] = step.step;
  if (step.tail) json["last_step"] = step.last_step;
  if (step.presence != StepPresence::both)
    json["only_in"] = step.presence == StepPresence::only_a ? "a" : "b";
  Json requests = Json::array();
  for (const CollectedField& field : step.fields) {
    const Json name = field.request.empty() ? Json() : Json(field.request);
    if (requests.empty() || requests.back()["request"] != name)
      requests.push_back({{"request", name}, {"fields", Json::array()}});
    Json one = {{"field", field.field},
                {"section", diff_section_name(field.section)},
                {"a", value_to_json(field.a)},
                {"b", value_to_json(field.b)}};
    if (!field.place.empty()) one["place"] = field.place;
    requests.back()["fields"].push_back(std::move(one));
  }
  json["requests"] = std::move(requests);
  json["num_fields"] = step.num_fields;
  return json;
}

Json first_to_json(const DiffReport& report) {
  if (report.collected.steps.empty()) return nullptr;
  const CollectedStep& first = report.collected.steps.front();
  Json json = step_to_json(first);
  Json decisions = Json::array();
  for (const DecisionPair& pair : report.collected.decisions) {
    decisions.push_back({{"request", pair.request.empty() ? Json() : Json(pair.request)},
                         {"subject", pair.subject},
                         {"source", pair.source},
                         {"a", pair.a},
                         {"b", pair.b}});
    if (!pair.differs.empty()) decisions.back()["differs"] = pair.differs;
  }
  json["decisions"] = std::move(decisions);
  json["num_decisions"] = report.collected.num_decisions;
  json["findings"] = {{"a", report.collected.findings_a}, {"b", report.collected.findings_b}};
  Json commands = Json::array();
  for (const DiffReportSide* side : {&report.a, &report.b})
    if (!side->look_further.empty())
      commands.push_back(fmt::format(fmt::runtime(side->look_further), first.step));
  json["look_further"] = std::move(commands);
  return json;
}

Json summary_to_json(const DiffReport& report) {
  const DiffSummary& summary = report.summary;
  Json sections = Json::object();
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    if (summary.fields_by_section[s] > 0)
      sections[std::string(diff_section_name(static_cast<DiffSection>(s)))] = {
          {"steps", summary.steps_by_section[s]}, {"fields", summary.fields_by_section[s]}};
  Json fields = Json::object();
  for (const FieldCount& count : count_by_field(summary))
    fields[fmt::format("{}.{}", count.list, count.field)] = count.count;
  Json requests = Json::object();
  for (const auto& [name, count] : report.by_request_name)
    if (requests.size() < report.limit) requests[name] = count;
  return {{"verdict", report.collected.complete ? summary.verdict() : std::string("not complete")},
          {"complete", report.collected.complete},
          {"same_decisions", report.collected.complete && summary.same_decisions()},
          {"num_steps", {{"a", summary.num_steps_a}, {"b", summary.num_steps_b}}},
          {"last_step", {{"a", summary.last_step_a}, {"b", summary.last_step_b}}},
          {"num_steps_of_both", summary.num_common},
          {"num_steps_that_differ", summary.num_differing},
          {"num_steps_of_one", {{"a", summary.num_only_a}, {"b", summary.num_only_b}}},
          {"num_fields", summary.num_fields},
          {"by_section", std::move(sections)},
          {"by_field", std::move(fields)},
          {"by_request", std::move(requests)},
          {"num_requests", report.by_request_name.size()},
          {"num_fields_of_no_request", summary.num_of_step}};
}

void add_totals(const DiffReport& report, Json& json) {
  Json differences = Json::array();
  Json by_field = Json::object();
  std::size_t requests = 0;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < report.totals.size(); ++i) {
    const TotalDifference& total = report.totals[i];
    by_field[total.field] = by_field.value(total.field, std::int64_t{0}) + 1;
    if (i == 0 || total.request != report.totals[i - 1].request) ++requests;
    if (requests > report.limit) continue;
    ++shown;
    differences.push_back({{"request", total.request.empty() ? Json() : Json(total.request)},
                           {"field", total.field},
                           {"a", total.a},
                           {"b", total.b}});
  }
  json["first_divergence"] = nullptr;
  json["summary"] = {{"num_requests", report.num_requests}, {"by_field", std::move(by_field)}};
  json["differences"] = std::move(differences);
  json["shown"] = shown;
  json["total"] = report.totals.size();
}

}  // namespace

Json diff_to_json(const DiffReport& report) {
  Json settings = Json::array();
  for (const ConfigDifference& setting : report.settings)
    settings.push_back({{"setting", setting.setting}, {"a", setting.a}, {"b", setting.b}});
  Json json = {{"a", side_to_json(report.a)},
               {"b", side_to_json(report.b)},
               {"comparable", report.by_request ? "requests" : "steps"},
               {"notes", report.notes},
               {"ignored", report.ignored},
               {"settings", std::move(settings)}};
  if (report.texts) {
    json["texts"] = Json::array();
    for (const DifferingText& text : *report.texts)
      json["texts"].push_back({{"request", text.request},
                               {"first_difference", text.first},
                               {"words", text_difference_words(text)},
                               {"step", {{"a", text.step_a}, {"b", text.step_b}}},
                               {"token_begins", text.token_begins},
                               {"token", {{"a", text.token_a}, {"b", text.token_b}}},
                               {"a", text.a},
                               {"b", text.b}});
  }
  if (report.by_request) {
    add_totals(report, json);
    return json;
  }
  json["first_divergence"] = first_to_json(report);
  json["summary"] = summary_to_json(report);
  Json differences = Json::array();
  for (const CollectedStep& step : report.collected.steps)
    differences.push_back(step_to_json(step));
  json["shown"] = differences.size();
  json["differences"] = std::move(differences);
  json["total"] = report.summary.num_differences;
  return json;
}

}  // namespace hybridscope
