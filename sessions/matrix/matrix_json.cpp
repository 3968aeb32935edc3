#include "sessions/matrix/matrix_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kVersion = 1;
constexpr IntegerRange kCount{.min = 0, .max = INT64_MAX};

constexpr std::array kVerdicts = {CellVerdict::safe, CellVerdict::has_findings,
                                  CellVerdict::untested, CellVerdict::refused, CellVerdict::same};

Json kind_to_json(const FindingKind& kind) {
  Json json = {{"rule", rule_info(kind.rule).slug}};
  if (!kind.detail.empty()) json["detail"] = kind.detail;
  return json;
}

Json faults_to_json(const std::vector<CellFault>& faults) {
  Json list = Json::array();
  for (const CellFault& one : faults) {
    Json json = {{"cause", one.cause}};
    json.update(kind_to_json(one.kind));
    json["scenarios"] = one.scenarios;
    json["scenario"] = one.index;
    json["requests"] = one.num_requests;
    list.push_back(std::move(json));
  }
  return list;
}

Json findings_to_json(const std::vector<CellFinding>& findings) {
  Json list = Json::array();
  for (const CellFinding& one : findings) {
    Json json = kind_to_json(one.kind);
    json["scenarios"] = one.scenarios;
    json["first"] = one.first;
    list.push_back(std::move(json));
  }
  return list;
}

std::string string_at(const ObjectReader& object, std::string_view key) {
  return object.string(key).value_or("");
}

std::int64_t count_at(const ObjectReader& object, std::string_view key) {
  return object.integer(key, kCount).value_or(0);
}

template <class Value, class Read>
std::vector<Value> list_at(const ObjectReader& object, std::string_view key, JsonErrors& errors,
                           const Read& read) {
  std::vector<Value> values;
  if (const auto place = object.find(key))
    for (const JsonPlace& element : read_array(*place, errors))
      values.push_back(read(element, errors));
  return values;
}

FindingKind kind_at(const ObjectReader& object, JsonErrors& errors) {
  FindingKind kind{.detail = string_at(object, "detail")};
  const auto place = object.require("rule");
  if (!place) return kind;
  const std::string slug = read_string(*place, errors);
  const auto rules = rule_table();
  const auto info = std::ranges::find(rules, slug, &RuleInfo::slug);
  if (info == rules.end())
    errors.fail(place->pointer, fmt::format("no rule is called {}", quoted_text(slug)));
  else
    kind.rule = info->rule;
  return kind;
}

CellFinding finding_of_json(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader object(place, {"rule", "detail", "scenarios", "first"}, errors);
  return {.kind = kind_at(object, errors),
          .scenarios = count_at(object, "scenarios"),
          .first = count_at(object, "first")};
}

CellFault cell_fault_of_json(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader object(place, {"cause", "rule", "detail", "scenarios", "scenario", "requests"},
                            errors);
  return {.cause = string_at(object, "cause"),
          .scenarios = count_at(object, "scenarios"),
          .index = count_at(object, "scenario"),
          .num_requests = count_at(object, "requests"),
          .kind = kind_at(object, errors)};
}

MatrixEvent event_of_json(const JsonPlace& place, JsonErrors& errors) {
  const std::string name = read_string(place, errors);
  for (const MatrixEventInfo& info : matrix_event_table())
    if (info.name == name) return info.event;
  errors.fail(place.pointer, fmt::format("no event is called {}", quoted_text(name)));
  return MatrixEvent::pre_copy;
}

EventCounts events_of_json(const JsonPlace& place, JsonErrors& errors) {
  EventCounts counts = {};
  std::vector<std::string_view> names;
  for (const MatrixEventInfo& info : matrix_event_table()) names.push_back(info.name);
  const ObjectReader object(place, names, errors);
  for (const MatrixEventInfo& info : matrix_event_table()) {
    const auto event = object.find(info.name);
    if (!event) continue;
    const ObjectReader both(*event, {"times", "scenarios"}, errors);
    counts[static_cast<std::size_t>(info.event)] = {.times = count_at(both, "times"),
                                                    .scenarios = count_at(both, "scenarios")};
  }
  return counts;
}

Json events_to_json(const EventCounts& counts) {
  Json json = Json::object();
  for (const MatrixEventInfo& info : matrix_event_table()) {
    const EventCount& count = counts[static_cast<std::size_t>(info.event)];
    if (count.times > 0)
      json[std::string(info.name)] = {{"times", count.times}, {"scenarios", count.scenarios}};
  }
  return json;
}

CellVerdict verdict_at(const ObjectReader& object, JsonErrors& errors) {
  const auto place = object.require("result");
  if (!place) return CellVerdict::safe;
  const std::string name = read_string(*place, errors);
  const auto verdict = std::ranges::find(kVerdicts, name, verdict_name);
  if (verdict != kVerdicts.end()) return *verdict;
  errors.fail(
      place->pointer,
      fmt::format("{} is not a result of a cell (expected safe, findings, untested, refused "
                  "or same)",
                  quoted_text(name)));
  return CellVerdict::safe;
}

}  // namespace

Json header_to_json(const MatrixHeader& header) {
  return {{"hybridscope_matrix", kVersion},
          {"engine", header.engine},
          {"policies", header.policies},
          {"seed", std::to_string(header.seed)},
          {"scenarios_per_cell", header.scenarios_per_cell},
          {"in_bytes", header.in_bytes},
          {"only", header.filter},
          {"program", header.program},
          {"shard", header.shard}};
}

MatrixHeader header_of_json(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader object(place,
                            {"hybridscope_matrix", "engine", "policies", "seed",
                             "scenarios_per_cell", "in_bytes", "only", "program", "shard"},
                            errors);
  (void)object.require("hybridscope_matrix");
  (void)object.integer("hybridscope_matrix", {.min = kVersion, .max = kVersion});
  MatrixHeader header{.engine = string_at(object, "engine"),
                      .policies = string_at(object, "policies"),
                      .scenarios_per_cell = count_at(object, "scenarios_per_cell"),
                      .filter = string_at(object, "only"),
                      .program = string_at(object, "program"),
                      .shard = string_at(object, "shard")};
  if (const auto in_bytes = object.find("in_bytes"))
    header.in_bytes = read_boolean(*in_bytes, errors);
  if (const auto seed = object.require("seed")) {
    const std::string text = read_string(*seed, errors);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), header.seed);
    if (code != std::errc() || end != text.data() + text.size())
      errors.fail(seed->pointer, fmt::format("{} is not a seed (expected a number of 64 bits in "
                                             "quotes)",
                                             quoted_text(text)));
  }
  return header;
}

Json cell_to_json(const CellResult& cell) {
  Json json = {{"cell", cell_name(cell.cell)}, {"result", verdict_name(cell.verdict)}};
  if (cell.verdict == CellVerdict::refused) json["reason"] = cell.note;
  if (cell.verdict == CellVerdict::same) json["as"] = cell.note;
  if (cell.num_scenarios == 0) return json;
  json["scenarios"] = cell.num_scenarios;
  json["failing"] = cell.num_failing;
  json["in_bytes"] = cell.num_in_bytes;
  json["steps"] = cell.num_steps;
  json["request_steps"] = cell.num_request_steps;
  json["events"] = events_to_json(cell.events);
  json["never_happened"] = Json::array();
  for (const MatrixEvent event : cell.missing)
    json["never_happened"].push_back(matrix_event_table()[static_cast<std::size_t>(event)].name);
  json["findings"] = findings_to_json(cell.findings);
  json["faults"] = faults_to_json(cell.faults);
  json["unexplained"] = findings_to_json(cell.unexplained);
  return json;
}

CellResult cell_of_json(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader object(
      place,
      {"cell", "result", "reason", "as", "scenarios", "failing", "in_bytes", "steps",
       "request_steps", "events", "never_happened", "findings", "faults", "unexplained"},
      errors);
  CellResult result;
  if (const auto cell = object.require("cell")) {
    const auto parsed = parse_cell(read_string(*cell, errors));
    if (parsed.ok())
      result.cell = parsed.value();
    else
      errors.fail(cell->pointer, parsed.error().message);
  }
  result.verdict = verdict_at(object, errors);
  result.note = string_at(object, result.verdict == CellVerdict::same ? "as" : "reason");
  result.num_scenarios = count_at(object, "scenarios");
  result.num_failing = count_at(object, "failing");
  result.num_in_bytes = count_at(object, "in_bytes");
  result.num_steps = count_at(object, "steps");
  result.num_request_steps = count_at(object, "request_steps");
  if (const auto events = object.find("events")) result.events = events_of_json(*events, errors);
  result.missing = list_at<MatrixEvent>(object, "never_happened", errors, event_of_json);
  result.findings = list_at<CellFinding>(object, "findings", errors, finding_of_json);
  result.faults = list_at<CellFault>(object, "faults", errors, cell_fault_of_json);
  result.unexplained = list_at<CellFinding>(object, "unexplained", errors, finding_of_json);
  return result;
}

Json fault_to_json(const MatrixFault& fault) {
  Json json = {{"fault", fault.cause}};
  json.update(kind_to_json(fault.kind));
  json["text"] = fault.text;
  json["cell"] = fault.cell;
  json["scenario"] = fault.index;
  json["requests"] = fault.num_requests;
  json["steps"] = fault.num_steps;
  json["file"] = fault.file;
  json["no_file"] = fault.no_file;
  return json;
}

MatrixFault fault_of_json(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader object(place,
                            {"fault", "rule", "detail", "text", "cell", "scenario", "requests",
                             "steps", "file", "no_file"},
                            errors);
  return {.cause = string_at(object, "fault"),
          .kind = kind_at(object, errors),
          .text = string_at(object, "text"),
          .cell = string_at(object, "cell"),
          .index = count_at(object, "scenario"),
          .num_requests = count_at(object, "requests"),
          .num_steps = count_at(object, "steps"),
          .file = string_at(object, "file"),
          .no_file = string_at(object, "no_file")};
}

}  // namespace hybridscope
