#include "sessions/matrix/run_matrix.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sessions/known_bugs/finding_cause.h"
#include "sessions/run/work_in_threads.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/shrink/shrink_scenario.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace {

class MatrixRun {
 public:
  MatrixRun(const MatrixOptions& options, MatrixFile& file) : options_(options), file_(file) {}

  Result<bool> run() {
    const auto cells = run_cells();
    if (!cells.ok() || !cells.value() || !options_.shrink) return cells;
    return shrink();
  }
  Result<bool> shrink() {
    std::vector<FaultCandidates> faults;
    for (FaultCandidates& one : collect_faults(file_.contents()))
      if (!file_.contents().faults.contains(one.key)) faults.push_back(std::move(one));
    begin(faults.size(), true);
    return work_in_threads<ShrunkFault>(
        options_.num_threads, faults.size(),
        [&](std::size_t i) { return shrink_fault(faults[i], options_.run); },
        [&](const ShrunkFault& shrunk) {
          ++progress_.done;
          tell();
          return file_.add(shrunk.fault, shrunk.scenario);
        });
  }

 private:
  void tell() {
    if (options_.progress) options_.progress(progress_);
  }
  void begin(std::size_t all, bool shrinking) {
    progress_.shrinking = shrinking;
    progress_.done = 0;
    progress_.all = static_cast<std::int64_t>(all);
    tell();
  }
  Status take(const CellResult& cell) {
    ++progress_.done;
    progress_.num_scenarios += cell.num_scenarios;
    progress_.num_with_findings += cell.verdict == CellVerdict::has_findings;
    tell();
    return file_.add(cell);
  }
  Result<bool> run_cells() {
    std::vector<MatrixCell> cells;
    for (const MatrixCell& cell : options_.cells)
      if (!file_.contents().cells.contains(cell_name(cell))) cells.push_back(cell);
    begin(cells.size(), false);
    return work_in_threads<CellResult>(
        options_.num_threads, cells.size(),
        [&](std::size_t i) { return run_cell(cells[i], options_.run); },
        [&](const CellResult& cell) { return take(cell); });
  }

  const MatrixOptions& options_;
  MatrixFile& file_;
  MatrixProgress progress_;
};

}  // namespace

Result<bool> run_matrix(const MatrixOptions& options, MatrixFile& file) {
  return MatrixRun(options, file).run();
}

Result<bool> shrink_faults(const MatrixOptions& options, MatrixFile& file) {
  return MatrixRun(options, file).shrink();
}

namespace {

std::string scenario_file_name(const MatrixCell& cell, std::int64_t index) {
  std::string name = cell_name(cell);
  std::ranges::replace(name, '/', '-');
  return fmt::format("{}-{}.json", name, index);
}

}  // namespace

Result<std::int64_t> write_matrix_scenarios(const MatrixOptions& options,
                                            const std::string& folder) {
  auto made = MadeFolder::make(folder);
  if (!made.ok()) return made.error();
  OutputFolder out(std::move(made).value());
  std::int64_t count = 0;
  for (const MatrixCell& cell : options.cells) {
    if (!is_run(cell)) continue;
    for (std::int64_t index = 0; index < options.run.num_scenarios; ++index) {
      if (options.run.go_on && !options.run.go_on()) {
        out.keep();
        return count;
      }
      const std::string text = write_scenario(scenario_of_cell(cell, index, options.run));
      if (Status written = out.write(scenario_file_name(cell, index), text); !written.ok())
        return written.error();
      ++count;
    }
  }
  out.keep();
  return count;
}

namespace {

// One without a file is larger than any other.
bool is_smaller(const MatrixFault& a, const MatrixFault& b) {
  return std::tuple(a.file.empty(), a.num_requests, a.num_steps) <
         std::tuple(b.file.empty(), b.num_requests, b.num_steps);
}

Status add_cells(const MatrixSource& source, MatrixContents& merged) {
  for (const auto& [name, cell] : source.contents.cells)
    if (!(merged.cells.try_emplace(name, cell).first->second == cell))
      return invalid_input(fmt::format(
          "{}: cell {} has another result than in the folders before it", source.folder, name));
  return Ok{};
}

void add_faults(const MatrixSource& source, MatrixContents& merged) {
  for (const auto& [key, fault] : source.contents.faults) {
    const auto [known, fresh] = merged.faults.try_emplace(key);
    if (!fresh && !is_smaller(fault, known->second)) continue;
    known->second = fault;
    if (!fault.file.empty())
      known->second.file = (std::filesystem::path(source.folder) / fault.file).string();
  }
}

void drop_accidents(MatrixContents& merged) {
  std::set<std::string> keys;
  for (const FaultCandidates& fault : collect_faults(merged)) keys.insert(fault.key);
  std::erase_if(merged.faults, [&](const auto& fault) { return !keys.contains(fault.first); });
}

}  // namespace

Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources) {
  MatrixContents merged;
  merged.header = sources.front().contents.header;
  merged.header.shard = "1/1";
  for (const MatrixSource& source : sources) {
    const MatrixHeader& header = source.contents.header;
    if (const auto difference = header_difference(merged.header, header))
      return invalid_input(fmt::format("{} and {} do not belong together: {} is {} and {}",
                                       sources.front().folder, source.folder, difference->what,
                                       difference->a, difference->b));
    if (merged.header.filter != header.filter) merged.header.filter.clear();
    if (Status added = add_cells(source, merged); !added.ok()) return added.error();
    add_faults(source, merged);
  }

  drop_accidents(merged);
  return merged;
}

namespace {

constexpr std::int64_t kMaxRuns = 1000;         // per candidate
constexpr std::size_t kMaxFileNameBytes = 120;  // without ".json"

// A name that every file system accepts.
std::string file_name(const std::string& key) {
  std::string name;
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
    name += plain ? c : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  if (name.size() > kMaxFileNameBytes)
    name = fmt::format("{}-{:016x}", name.substr(0, kMaxFileNameBytes),
                       hash_name(NameKind::text, key));
  return name;
}

// Keeps those with the fewest requests; on ties those of the earlier cells.
void keep_smallest(std::vector<FaultCandidates::Place>& places) {
  std::ranges::stable_sort(places, {}, &FaultCandidates::Place::num_requests);
  places.resize(std::min(places.size(), kMaxFaultCandidates));
}

// The scenario as the cell runs it, and before it, except for a release, with the policies of the
// cause alone, which make a smaller file.
Result<std::vector<Scenario>> scenarios_at(const FaultCandidates& candidates,
                                           const FaultCandidates::Place& place,
                                           const CellRunOptions& options) {
  std::vector<Scenario> scenarios;
  if (!candidates.cause.empty() && options.profile.kind != EngineProfile::Kind::vllm_release) {
    const auto policies = policies_of_cause(candidates.cause);
    if (!policies.ok()) return policies.error();
    scenarios.push_back(scenario_with_policies(
        place.cell, drawn_scenario(place.cell, place.index, options.seed), policies.value()));
  }
  scenarios.push_back(scenario_of_cell(place.cell, place.index, options));
  return scenarios;
}

// What is wrong in the shrunk scenario without its cause, which would not be what it is named
// after; empty: nothing.
Result<std::string> left_without_cause(const ShrunkScenario& shrunk) {
  Scenario without = shrunk.scenario;
  switch_off(shrunk.cause.policies, without.settings, without.script);
  const auto run = check_scenario(without, {});
  if (!run.ok()) return run.error();
  std::string rules;
  for (const FindingKind& kind : run.value().errors) {
    const std::string_view slug = rule_info(kind.rule).slug;
    if (rules.find(slug) == std::string::npos)
      rules += fmt::format("{}{}", rules.empty() ? "" : ", ", slug);
  }
  return rules;
}

MatrixFault fault_at(const FaultCandidates& candidates, const FaultCandidates::Place& place) {
  return {.cause = candidates.cause,
          .kind = place.kind,
          .cell = cell_name(place.cell),
          .index = place.index};
}

ShrunkFault shrunk_fault(const FaultCandidates& candidates, const FaultCandidates::Place& place,
                         const ShrunkScenario& shrunk) {
  Scenario scenario = shrunk.scenario;
  scenario.name = file_name(candidates.key);
  MatrixFault fault = fault_at(candidates, place);
  fault.text = shrunk.text;
  fault.num_requests = shrunk.size_after.requests;
  fault.num_steps = shrunk.size_after.steps;
  fault.file = fmt::format("faults/{}.json", scenario.name);
  return {.fault = std::move(fault), .scenario = write_scenario(scenario)};
}

}  // namespace

std::vector<FaultCandidates> collect_faults(const MatrixContents& contents) {
  std::map<std::string, FaultCandidates> faults;
  for (const auto& [name, cell] : contents.cells) {
    for (const CellFault& fault : cell.faults) {
      FaultCandidates& one = faults[fault.cause];
      one.key = one.cause = fault.cause;
      one.places.push_back({cell.cell, fault.index, fault.kind, fault.num_requests});
    }
    for (const CellFinding& finding : cell.unexplained) {
      const std::string key = fault_key({.kind = finding.kind});
      FaultCandidates& one = faults[key];
      one.key = key;
      one.places.push_back({cell.cell, finding.first, finding.kind, 0});
    }
  }

  std::vector<FaultCandidates> list;
  for (const auto& [key, one] : faults) {
    if (is_accident(one.cause, [&](const std::string& id) { return faults.contains(id); }))
      continue;
    list.push_back(one);
    keep_smallest(list.back().places);
  }
  return list;
}

Result<std::optional<ShrunkFault>> shrink_fault(const FaultCandidates& candidates,
                                                const CellRunOptions& options) {
  std::optional<std::pair<ScenarioSize, ShrunkFault>> best;
  std::string left;
  for (const FaultCandidates::Place& place : candidates.places) {
    const auto scenarios = scenarios_at(candidates, place, options);
    if (!scenarios.ok()) return scenarios.error();
    ShrinkOptions shrink{.rule = place.kind.rule,
                         .detail = place.kind.detail,
                         .cause = candidates.cause,
                         .keep_max_model_len = true,
                         .max_runs = kMaxRuns};
    if (options.go_on) shrink.go_on = [&](const ShrinkProgress&) { return options.go_on(); };
    for (const Scenario& scenario : scenarios.value()) {
      const auto shrunk = shrink_scenario(scenario, shrink);
      if (options.go_on && !options.go_on()) return std::optional<ShrunkFault>();
      if (!shrunk.ok() && shrunk.error().kind == ErrorKind::not_found) continue;
      if (!shrunk.ok()) return shrunk.error();
      if (!candidates.cause.empty()) {
        auto wrong = left_without_cause(shrunk.value());
        if (!wrong.ok()) return wrong.error();
        if (!wrong.value().empty()) {
          left = std::move(wrong).value();
          continue;
        }
      }
      const ScenarioSize size = shrunk.value().size_after;
      if (!best || size < best->first)
        best = {size, shrunk_fault(candidates, place, shrunk.value())};
      break;
    }
  }

  if (best) return std::optional<ShrunkFault>(std::move(best->second));
  MatrixFault fault = fault_at(candidates, candidates.places.front());
  fault.no_file = left.empty() ? "no scenario shows it by itself"
                               : fmt::format("without it the smallest scenario still has {}", left);
  return std::optional(ShrunkFault{.fault = std::move(fault), .scenario = {}});
}

namespace {

// `part`: "row_order=query_len" or a bug's id.
Status set_values(std::string_view part, PolicyOverrides& policies) {
  if (const std::size_t equals = part.find('='); equals != std::string_view::npos) {
    EngineSettings settings;
    settings.policies = policies;
    const Setting* const policy = find_setting("policies", part.substr(0, equals));
    if (policy == nullptr || !set_setting_text(settings, *policy, part.substr(equals + 1)).ok())
      return invalid_input(fmt::format("there is no policy with this value: {}", part));
    policies = settings.policies;
    return Ok{};
  }
  // Bugs that fit equally are the same policies.
  const auto bug = find_known_bug(part.substr(0, part.find(kCauseKeyOr)));
  if (!bug.ok()) return bug.error();
  for (const PolicyValue& value : bug.value()->values()) policies.set(value);
  return Ok{};
}

}  // namespace

Result<PolicyOverrides> policies_of_cause(std::string_view cause) {
  PolicyOverrides policies;
  for (const std::string_view part : split_text(cause, '+'))
    if (Status set = set_values(part, policies); !set.ok()) return set.error();
  return policies;
}

}  // namespace hybridscope
