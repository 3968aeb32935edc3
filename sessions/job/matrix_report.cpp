#include "sessions/job/matrix_report.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sessions/matrix/matrix_html.h"
#include "sessions/matrix/matrix_json.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxFaultsShown = 40;

std::string fault_name(const FaultSummary& fault) {
  if (!fault.cause.empty()) return fault.cause;
  return fmt::format("unexplained: {}", fault.key);
}

std::string format_cells(const MatrixHeader& header, const VerdictCounts& cells,
                         std::string_view to_go_on) {
  std::string text = fmt::format(
      "{} run: {} {}, {} with findings, {} untested; {} refused by the engine, {} the same as "
      "another\n",
      counted(cells.run(), "cell"), grouped_number(cells.safe), safe_words(header),
      grouped_number(cells.with_findings), grouped_number(cells.untested),
      grouped_number(cells.refused), grouped_number(cells.same));
  if (cells.not_run > 0)
    text += fmt::format("{} not run: {}\n", counted(cells.not_run, "cell"), to_go_on);
  return text;
}

std::string format_values(const MatrixHeader& header, const MatrixSummary& summary) {
  TextTable table({"<axis", "<value", "cells", safe_words(header), "findings", "untested"});
  for (const AxisValueSummary& one : summary.values)
    table.add({std::string(axis_info(one.axis).name),
               std::string(axis_info(one.axis).values[one.value]), grouped_number(one.cells.run()),
               grouped_number(one.cells.safe), grouped_number(one.cells.with_findings),
               grouped_number(one.cells.untested)});
  return table.empty() ? std::string() : "\n" + table.format();
}

std::string format_faults(const MatrixSummary& summary, const std::string& folder) {
  if (summary.faults.empty()) return "\nno findings\n";
  std::string text = "\n";
  std::size_t shown = 0;
  std::int64_t accidents = 0;
  for (const FaultSummary& fault : summary.faults) {
    accidents += fault.accident;
    if (fault.accident || ++shown > kMaxFaultsShown) continue;
    text += fmt::format("{} ({}, {})\n", printable(fault_name(fault)), counted(fault.cells, "cell"),
                        rule_info(fault.kind.rule).slug);
    text +=
        fmt::format("    {}\n", fault.where.empty() ? "every value of every axis" : fault.where);
    if (!fault.no_file.empty()) text += fmt::format("    no file: {}\n", fault.no_file);
    if (fault.file.empty()) continue;
    const std::string file = (std::filesystem::path(folder) / fault.file).string();
    text += fmt::format("    {}, {}: hybridscope run {}\n", counted(fault.num_requests, "request"),
                        counted(fault.num_steps, "step"), shell_word(file));
  }
  if (shown > kMaxFaultsShown)
    text += fmt::format("and {} more (--json, --html)\n", shown - kMaxFaultsShown);
  if (accidents > 0)
    text += fmt::format("{} of these at once, in scenarios that one alone leaves right (--json)\n",
                        counted(accidents, "combination"));
  return text;
}

std::string format_not_modelled() {
  std::string text = "\nnot modelled:";
  for (const NotModelled& one : kNotModelled)
    text += fmt::format("{} {}", &one == &kNotModelled.front() ? "" : ",", one.name);
  return text + " (docs/matrix.md)\n";
}

Json counts_to_json(const VerdictCounts& cells) {
  return {{"safe", cells.safe},         {"findings", cells.with_findings},
          {"untested", cells.untested}, {"refused", cells.refused},
          {"same", cells.same},         {"not_run", cells.not_run}};
}

Json axes_to_json(const MatrixSummary& summary) {
  Json axes = Json::object();
  for (const AxisValueSummary& one : summary.values)
    axes[std::string(axis_info(one.axis).name)][std::string(
        axis_info(one.axis).values[one.value])] = {{"safe", one.cells.safe},
                                                   {"findings", one.cells.with_findings},
                                                   {"untested", one.cells.untested}};
  return axes;
}

Json faults_to_json(const MatrixSummary& summary) {
  Json faults = Json::array();
  for (const FaultSummary& fault : summary.faults) {
    Json json = {{"cause", fault.cause},        {"rule", rule_info(fault.kind.rule).slug},
                 {"detail", fault.kind.detail}, {"cells", fault.cells},
                 {"where", fault.where},        {"accident", fault.accident}};
    if (!fault.file.empty()) {
      json["file"] = fault.file;
      json["requests"] = fault.num_requests;
      json["steps"] = fault.num_steps;
    }
    if (!fault.no_file.empty()) json["no_file"] = fault.no_file;
    faults.push_back(std::move(json));
  }
  return faults;
}

Json not_modelled_to_json() {
  Json json = Json::object();
  for (const NotModelled& one : kNotModelled) json[std::string(one.name)] = one.why;
  return json;
}

}  // namespace

std::string format_matrix(const MatrixContents& contents, const MatrixSummary& summary,
                          const std::string& folder, std::string_view to_go_on) {
  const MatrixHeader& header = contents.header;
  std::string text = fmt::format(
      "matrix of {}{}: {}, {} a cell, {} with errors; {}, {}\n", header.engine,
      header.policies.empty() ? "" : fmt::format(" with {}", header.policies),
      counted(summary.num_scenarios, "scenario"), grouped_number(header.scenarios_per_cell),
      grouped_number(summary.num_failing), counted(summary.num_steps, "step"),
      counted(summary.num_request_steps, "request-step"));
  if (summary.num_in_bytes > 0)
    text +=
        fmt::format("state in bytes as well in {}\n", counted(summary.num_in_bytes, "scenario"));
  text += format_cells(header, summary.cells, to_go_on);
  text += format_values(header, summary);
  text += format_faults(summary, folder);
  return text + format_not_modelled();
}

Json matrix_to_json(const MatrixContents& contents, const MatrixSummary& summary,
                    const std::vector<MatrixCell>& cells) {
  Json json = header_to_json(contents.header);
  json["safe_means"] = safe_words(contents.header);
  json["scenarios"] = summary.num_scenarios;
  json["failing"] = summary.num_failing;
  json["steps"] = summary.num_steps;
  json["cells"] = counts_to_json(summary.cells);
  json["axes"] = axes_to_json(summary);
  json["faults"] = faults_to_json(summary);
  json["events"] = Json::object();
  for (const MatrixEventInfo& info : matrix_event_table()) {
    const EventCount& count = summary.events[static_cast<std::size_t>(info.event)];
    json["events"][std::string(info.name)] = {{"times", count.times},
                                              {"scenarios", count.scenarios}};
  }
  json["not_modelled"] = not_modelled_to_json();
  json["results"] = Json::array();
  for (const MatrixCell& cell : cells)
    if (const auto found = contents.cells.find(cell_name(cell)); found != contents.cells.end())
      json["results"].push_back(cell_to_json(found->second));
  return json;
}

std::string format_matrix_axes() {
  std::string text = "axes (--only AXIS=VALUE,...):\n";
  TextTable axes({"<axis", "<values", "<meaning"});
  for (const AxisInfo& axis : axis_table()) {
    std::string values;
    for (const std::string_view value : axis.values)
      values += fmt::format("{}{}", values.empty() ? "" : ", ", value);
    axes.add({std::string(axis.name), values, std::string(axis.meaning)});
  }
  text += axes.format();
  text += "\nevents, each of which a cell has to have seen where it can happen:\n";
  TextTable events({"<event", "<meaning"});
  for (const MatrixEventInfo& info : matrix_event_table())
    events.add({std::string(info.name), std::string(info.meaning)});
  text += events.format();
  text += "\nnot modelled:\n";
  TextTable limits({"<name", "<why"});
  for (const NotModelled& one : kNotModelled)
    limits.add({std::string(one.name), std::string(one.why)});
  return text + limits.format();
}

Json matrix_axes_to_json() {
  Json axes = Json::array();
  for (const AxisInfo& axis : axis_table()) {
    Json values = Json::array();
    for (const std::string_view value : axis.values) values.push_back(value);
    axes.push_back({{"name", axis.name}, {"values", values}, {"meaning", axis.meaning}});
  }
  Json events = Json::object();
  for (const MatrixEventInfo& info : matrix_event_table())
    events[std::string(info.name)] = info.meaning;
  return {{"axes", axes}, {"events", events}, {"not_modelled", not_modelled_to_json()}};
}

}  // namespace hybridscope
