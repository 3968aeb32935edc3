#include "sessions/matrix/matrix_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/matrix/run_matrix.h"

namespace hybridscope {
namespace {

void count(VerdictCounts& counts, CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::safe: ++counts.safe; break;
    case CellVerdict::has_findings: ++counts.with_findings; break;
    case CellVerdict::untested: ++counts.untested; break;
    case CellVerdict::refused: ++counts.refused; break;
    case CellVerdict::same: ++counts.same; break;
  }
}

bool was_run(const CellResult& cell) {
  return cell.verdict != CellVerdict::refused && cell.verdict != CellVerdict::same;
}

// Which values of each axis occur, as bits.
using ValueSets = std::array<std::uint32_t, kNumAxes>;

void add(ValueSets& sets, const MatrixCell& cell) {
  for (std::size_t i = 0; i < kNumAxes; ++i) sets[i] |= 1U << cell.values[i];
}

std::string where_text(const ValueSets& shown, const ValueSets& all) {
  std::string text;
  for (const AxisInfo& axis : axis_table()) {
    const auto i = static_cast<std::size_t>(axis.axis);
    if (shown[i] == all[i]) continue;
    std::string values;
    for (std::size_t v = 0; v < axis.values.size(); ++v)
      if (shown[i] >> v & 1U)
        values += fmt::format("{}{}", values.empty() ? "" : ", ", axis.values[v]);
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", axis.name, values);
  }
  return text;
}

struct FaultPlaces {
  FaultSummary summary;
  ValueSets values = {};
};

class Summarizer {
 public:
  explicit Summarizer(const MatrixContents& contents) : contents_(contents) {}

  void add(const MatrixCell& cell) {
    const auto found = contents_.cells.find(cell_name(cell));
    if (found == contents_.cells.end()) {
      ++summary_.cells.not_run;
      return;
    }
    const CellResult& result = found->second;
    count(summary_.cells, result.verdict);
    if (!was_run(result)) return;
    hybridscope::add(run_, cell);
    for (std::size_t i = 0; i < kNumAxes; ++i) count(values_[{i, cell.values[i]}], result.verdict);
    summary_.num_scenarios += result.num_scenarios;
    summary_.num_failing += result.num_failing;
    summary_.num_in_bytes += result.num_in_bytes;
    summary_.num_steps += result.num_steps;
    summary_.num_request_steps += result.num_request_steps;
    for (std::size_t i = 0; i < kNumMatrixEvents; ++i) {
      summary_.events[i].times += result.events[i].times;
      summary_.events[i].scenarios += result.events[i].scenarios;
    }
    add_faults(result);
  }

  MatrixSummary finish() {
    for (const auto& [place, cells] : values_)
      summary_.values.push_back(
          {.axis = static_cast<Axis>(place.first), .value = place.second, .cells = cells});
    for (auto& [key, fault] : faults_) {
      fault.summary.where = where_text(fault.values, run_);
      fault.summary.accident =
          is_accident(key, [&](const std::string& id) { return faults_.contains(id); });
      if (const auto small = contents_.faults.find(key); small != contents_.faults.end()) {
        fault.summary.kind = small->second.kind;
        fault.summary.file = small->second.file;
        fault.summary.no_file = small->second.no_file;
        fault.summary.num_requests = small->second.num_requests;
        fault.summary.num_steps = small->second.num_steps;
      }
      summary_.faults.push_back(std::move(fault.summary));
    }
    std::ranges::stable_sort(summary_.faults, {}, [](const FaultSummary& fault) {
      return std::pair(fault.accident, -fault.cells);
    });
    return std::move(summary_);
  }

 private:
  void add_faults(const CellResult& cell) {
    for (const CellFault& fault : cell.faults)
      add_fault({.cause = fault.cause, .kind = fault.kind}, cell);
    for (const CellFinding& finding : cell.unexplained) add_fault({.kind = finding.kind}, cell);
  }
  void add_fault(const MatrixFault& shown, const CellResult& cell) {
    const std::string key = fault_key(shown);
    const auto [place, fresh] = faults_.try_emplace(key);
    FaultPlaces& fault = place->second;
    if (fresh) fault.summary = {.key = key, .cause = shown.cause, .kind = shown.kind};
    ++fault.summary.cells;
    hybridscope::add(fault.values, cell.cell);
  }

  const MatrixContents& contents_;
  MatrixSummary summary_;
  std::map<std::pair<std::size_t, std::size_t>, VerdictCounts> values_;
  std::map<std::string, FaultPlaces> faults_;
  ValueSets run_ = {};
};

}  // namespace

std::string safe_words(const MatrixHeader& header) {
  if (header.scenarios_per_cell >= kScenariosPerCell) return "safe";
  return fmt::format("with no finding in {}", header.scenarios_per_cell);
}

MatrixSummary summarize_matrix(const MatrixContents& contents,
                               const std::vector<MatrixCell>& cells) {
  Summarizer summarizer(contents);
  for (const MatrixCell& cell : cells) summarizer.add(cell);
  return summarizer.finish();
}

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

std::string string_at(const JsonValue& object, std::string_view key) {
  return object.string_at(key).value_or("");
}

std::int64_t count_at(const JsonValue& object, std::string_view key) {
  return object.int64_at(key, kCount).value_or(0);
}

template <class Value, class Read>
std::vector<Value> list_at(const JsonValue& object, std::string_view key, const Read& read) {
  std::vector<Value> values;
  if (const auto place = object.find(key))
    for (const JsonValue& element : place->elements()) values.push_back(read(element));
  return values;
}

FindingKind kind_at(const JsonValue& object) {
  FindingKind kind{.detail = string_at(object, "detail")};
  const JsonValue place = object.require("rule");
  const auto rules = rule_table();
  const auto info = std::ranges::find(rules, place.text(), &RuleInfo::slug);
  if (info == rules.end())
    place.fail(fmt::format("no rule is called {}", quoted_text(place.text())));
  kind.rule = info->rule;
  return kind;
}

CellFinding finding_of_json(const JsonValue& place) {
  place.check_keys({"rule", "detail", "scenarios", "first"});
  return {.kind = kind_at(place),
          .scenarios = count_at(place, "scenarios"),
          .first = count_at(place, "first")};
}

CellFault cell_fault_of_json(const JsonValue& place) {
  place.check_keys({"cause", "rule", "detail", "scenarios", "scenario", "requests"});
  return {.cause = string_at(place, "cause"),
          .scenarios = count_at(place, "scenarios"),
          .index = count_at(place, "scenario"),
          .num_requests = count_at(place, "requests"),
          .kind = kind_at(place)};
}

MatrixEvent event_of_json(const JsonValue& place) {
  const std::string_view name = place.text();
  for (const MatrixEventInfo& info : matrix_event_table())
    if (info.name == name) return info.event;
  place.fail(fmt::format("no event is called {}", quoted_text(name)));
}

EventCounts events_of_json(const JsonValue& place) {
  EventCounts counts = {};
  std::vector<std::string_view> names;
  for (const MatrixEventInfo& info : matrix_event_table()) names.push_back(info.name);
  place.check_keys(names);
  for (const MatrixEventInfo& info : matrix_event_table()) {
    const auto event = place.find(info.name);
    if (!event) continue;
    event->check_keys({"times", "scenarios"});
    counts[static_cast<std::size_t>(info.event)] = {.times = count_at(*event, "times"),
                                                    .scenarios = count_at(*event, "scenarios")};
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

CellVerdict verdict_at(const JsonValue& object) {
  const JsonValue place = object.require("result");
  const std::string_view name = place.text();
  const auto verdict = std::ranges::find(kVerdicts, name, verdict_name);
  if (verdict != kVerdicts.end()) return *verdict;
  place.fail(fmt::format(
      "{} is not a result of a cell (expected safe, findings, untested, refused or same)",
      quoted_text(name)));
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

MatrixHeader header_of_json(const JsonValue& place) {
  place.check_keys({"hybridscope_matrix", "engine", "policies", "seed", "scenarios_per_cell",
                    "in_bytes", "only", "program", "shard"});
  place.require("hybridscope_matrix").int64({.min = kVersion, .max = kVersion});
  MatrixHeader header{.engine = string_at(place, "engine"),
                      .policies = string_at(place, "policies"),
                      .scenarios_per_cell = count_at(place, "scenarios_per_cell"),
                      .filter = string_at(place, "only"),
                      .program = string_at(place, "program"),
                      .shard = string_at(place, "shard")};
  header.in_bytes = place.boolean_at("in_bytes").value_or(header.in_bytes);
  const JsonValue seed = place.require("seed");
  const std::string_view text = seed.text();
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), header.seed);
  if (code != std::errc() || end != text.data() + text.size())
    seed.fail(fmt::format("{} is not a seed (expected a number of 64 bits in quotes)",
                          quoted_text(text)));
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

CellResult cell_of_json(const JsonValue& place) {
  place.check_keys({"cell", "result", "reason", "as", "scenarios", "failing", "in_bytes", "steps",
                    "request_steps", "events", "never_happened", "findings", "faults",
                    "unexplained"});
  CellResult result;
  const JsonValue cell = place.require("cell");
  const auto parsed = parse_cell(cell.string());
  if (!parsed.ok()) cell.fail(parsed.error().message);
  result.cell = parsed.value();
  result.verdict = verdict_at(place);
  result.note = string_at(place, result.verdict == CellVerdict::same ? "as" : "reason");
  result.num_scenarios = count_at(place, "scenarios");
  result.num_failing = count_at(place, "failing");
  result.num_in_bytes = count_at(place, "in_bytes");
  result.num_steps = count_at(place, "steps");
  result.num_request_steps = count_at(place, "request_steps");
  if (const auto events = place.find("events")) result.events = events_of_json(*events);
  result.missing = list_at<MatrixEvent>(place, "never_happened", event_of_json);
  result.findings = list_at<CellFinding>(place, "findings", finding_of_json);
  result.faults = list_at<CellFault>(place, "faults", cell_fault_of_json);
  result.unexplained = list_at<CellFinding>(place, "unexplained", finding_of_json);
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

MatrixFault fault_of_json(const JsonValue& place) {
  place.check_keys({"fault", "rule", "detail", "text", "cell", "scenario", "requests", "steps",
                    "file", "no_file"});
  return {.cause = string_at(place, "fault"),
          .kind = kind_at(place),
          .text = string_at(place, "text"),
          .cell = string_at(place, "cell"),
          .index = count_at(place, "scenario"),
          .num_requests = count_at(place, "requests"),
          .num_steps = count_at(place, "steps"),
          .file = string_at(place, "file"),
          .no_file = string_at(place, "no_file")};
}

}  // namespace hybridscope
