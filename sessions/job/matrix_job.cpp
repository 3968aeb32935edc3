#include "sessions/job/matrix_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "core/caching/manager_policies.h"
#include "core/model/model_policies.h"
#include "sessions/job/shared_work.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

constexpr std::string_view kPolicies = "policies";  // section of the settings

// The row with this name. Error: there is none; the message has the nearest.
Result<const Setting*> find_policy(const std::string& name) {
  if (const Setting* setting = find_setting(kPolicies, name)) return setting;
  std::vector<std::string_view> known;
  for (const Setting& row : settings_table())
    if (row.section == kPolicies) known.push_back(row.name);
  return invalid_input(fmt::format("no policy is called {}{} (docs/differences.md lists them)",
                                   quoted_text(name), nearest_key_hint(name, known)));
}

// Reads "name=value"; the last value of a name counts. Error: no such policy or value, with the
// nearest.
Result<PolicyOverrides> read_policies(const std::vector<std::string>& texts) {
  EngineSettings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto policy = find_policy(text.substr(0, equals));
    if (!policy.ok()) return policy.error();
    if (equals == std::string::npos)
      return invalid_input(fmt::format("{} has no value (expected NAME=VALUE)", quoted_text(text)));
    if (Status set = set_setting_text(settings, *policy.value(), text.substr(equals + 1));
        !set.ok())
      return set.error();
  }
  return settings.policies;
}

// "name=value name=value" in the order of the table.
std::string policies_text(const PolicyOverrides& policies) {
  EngineSettings settings;
  settings.policies = policies;
  std::string text;
  for (const Setting& row : settings_table()) {
    if (row.section != kPolicies) continue;
    if (const auto value = get_setting(settings, row))
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", row.name, std::get<std::string>(*value));
  }
  return text;
}

Result<CellFilter> read_filter(const std::vector<std::string>& only) {
  CellFilter filter;
  for (const std::string& text : only)
    if (Status added = filter.add(text); !added.ok()) return added.error();
  return filter;
}

// "matrix-safe", "matrix-vllm@2026-06-29-2of7".
std::string default_folder(const MatrixHeader& header, const Shard& shard) {
  std::string folder = fmt::format("matrix-{}", header.engine);
  if (shard.count > 1) folder += fmt::format("-{}of{}", shard.index, shard.count);
  return folder;
}

CellRunOptions run_options_of(const MatrixHeader& header, const EngineProfile& profile,
                              const PolicyOverrides& policies) {
  CellRunOptions run;
  run.profile = profile;
  run.policies = policies;
  run.seed = header.seed;
  run.num_scenarios = header.scenarios_per_cell;
  return run;
}

// A release may lack a mode, a mode or a method with a runner (engine_setup.h), or layers that
// store states inside a prefill; the reference lacks a method.
bool exists_in(const MatrixCell& cell, const std::string& engine) {
  EngineSettings settings = cell_settings(cell);
  settings.engine = parse_engine_profile(engine);
  const std::optional<Release> release = release_of(settings);
  const PolicySet policies = resolve_policies(settings);
  if (cell.checkpoints() == Checkpoints::in_prefills &&
      (policies.is(PrefillCheckpoint::never) || (release && policies.is(CheckpointLayers::none))))
    return false;
  // What no profile has is told as refused.
  if (!release)
    return !find_setting_conflict(settings) || find_setting_conflict(cell_settings(cell));
  return !release_conflict(settings) &&
         !runner_conflict(*release, {.runner = cell.runner(),
                                     .mode = cell.mamba_cache_mode(),
                                     .method = cell.speculative_method(),
                                     .async_scheduling = cell.async_scheduling()});
}

}  // namespace

Result<std::vector<MatrixCell>> cells_of(const MatrixHeader& header) {
  const auto filter = read_filter(split_words(header.filter));
  if (!filter.ok()) return filter.error();
  const auto shard = parse_shard(header.shard);
  if (!shard.ok()) return shard.error();
  std::vector<MatrixCell> cells;
  for (const MatrixCell& cell : all_cells())
    if (filter.value().takes(cell) && exists_in(cell, header.engine) &&
        shard_of(cell_name(cell), shard.value().count) == shard.value().index)
      cells.push_back(cell);
  return cells;
}

Result<MatrixJob> make_matrix_job(const MatrixJobOptions& options, const Backends& backends) {
  const auto policies = read_policies(options.policies);
  if (!policies.ok()) return policies.error();
  const auto filter = read_filter(options.only);
  if (!filter.ok()) return filter.error();
  const auto shard = parse_shard(options.shard.empty() ? "1/1" : options.shard);
  if (!shard.ok()) return shard.error();
  auto program = this_program();
  if (!program.ok()) return program.error();
  MatrixJob job;
  job.header = {.engine = options.engine,
                .policies = policies_text(policies.value()),
                .seed = options.seed,
                .scenarios_per_cell = options.scenarios,
                .in_bytes = !options.labels_only,
                .filter = filter.value().text(),
                .program = std::move(program).value(),
                .shard = shard_text(shard.value())};
  auto cells = cells_of(job.header);
  if (!cells.ok()) return cells.error();
  job.options.cells = std::move(cells).value();
  if (std::ranges::none_of(job.options.cells, is_run))
    return invalid_input(
        fmt::format("nothing to run: of {} selected, each is refused or the same "
                    "as another (docs/ci.md, --list)",
                    counted(std::ssize(job.options.cells), "cell")));
  job.options.num_threads = num_threads_for(options.jobs);
  job.options.shrink = !options.no_shrink;
  auto run = cell_run_options(options, backends);
  if (!run.ok()) return run.error();
  job.options.run = std::move(run).value();
  job.folder = options.folder.empty() ? default_folder(job.header, shard.value()) : options.folder;
  return job;
}

Result<CellRunOptions> cell_run_options(const MatrixJobOptions& options, const Backends& backends) {
  const auto policies = read_policies(options.policies);
  if (!policies.ok()) return policies.error();
  CellRunOptions run =
      run_options_of({.seed = options.seed, .scenarios_per_cell = options.scenarios},
                     *parse_engine_profile(options.engine), policies.value());
  run.go_on = options.go_on;
  if (!options.labels_only)
    run.make_backend = [make = backends.cpu.make](StateMemory memory) {
      return make({.memory = std::move(memory), .largest_step = {}, .device = 0});
    };
  return run;
}

Result<MatrixOptions> shrink_options_of(const MatrixHeader& header,
                                        const MatrixJobOptions& options) {
  auto program = this_program();
  if (!program.ok()) return program.error();
  MatrixHeader here = header;
  here.program = std::move(program).value();
  if (const auto difference = header_difference(header, here))
    return invalid_input(
        fmt::format("these results are of another {}: {}, not {} (their scenarios cannot be made "
                    "small here; --no-shrink leaves that out)",
                    difference->what, difference->a, difference->b));
  const auto profile = parse_engine_profile(header.engine);
  if (!profile)
    return invalid_input(fmt::format("there is no profile {}", quoted_text(header.engine)));
  const auto policies = read_policies(split_words(header.policies));
  if (!policies.ok()) return policies.error();
  MatrixOptions shrink;
  shrink.run = run_options_of(header, *profile, policies.value());
  shrink.run.go_on = options.go_on;
  shrink.num_threads = num_threads_for(options.jobs);
  return shrink;
}

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
  return text + " (docs/ci.md)\n";
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
