#include "sessions/matrix/run_cell.h"

#include <fmt/core.h>
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "core/model/model_policies.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

// Depends on the cell's name, so a new axis value changes no other cell.
std::uint64_t scenario_seed(const MatrixCell& cell, std::int64_t index, std::uint64_t seed) {
  return mix(mix(seed, hash_name(NameKind::text, cell_name(cell))),
             static_cast<std::uint64_t>(index));
}

PolicySet policies_in(const MatrixCell& cell, const EngineProfile& profile,
                      const PolicyOverrides& overrides) {
  EngineSettings settings = cell_settings(cell);
  settings.engine = profile;
  settings.policies = overrides;
  return resolve_policies(settings);
}

template <class Key, class Count>
void count(std::map<Key, Count>& counts, const Key& key, Count fresh) {
  ++counts.try_emplace(key, std::move(fresh)).first->second.scenarios;
}

template <class Key, class Value>
std::vector<Value> values_of(std::map<Key, Value>& map) {
  std::vector<Value> values;
  for (auto& [key, value] : map) values.push_back(std::move(value));
  return values;
}

// Runs scenario `index` of the cell. Errors: a lost device or too little memory.
Result<CheckedScenario> check_scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                                               const Scenario& scenario,
                                               const CheckScenarioOptions& options) {
  std::string broken;
  try {
    auto run = check_scenario(scenario, options);
    if (run.ok() || run.error().kind != ErrorKind::invalid_input) return run;
    broken = run.error().message;
  } catch (const ContractViolation& violation) {
    broken = violation.what();
  }
  contract_violation(
      fmt::format("cell {}, scenario {}: {}", cell_name(cell), index, broken).c_str(), __FILE__,
      __LINE__);
}

FindingKind kind_of(const Finding& finding) { return {finding.rule, std::string(finding.detail)}; }

struct Chains {
  std::vector<Finding> beginnings;  // the first kMaxExplainedChains
  std::set<FindingKind> kinds;      // of all findings of severity error
};

Chains chains_of(const RunPlan& plan) {
  Chains chains;
  auto created = CheckedRun::create(plan, {.max_steps = kMaxMatrixSteps});
  if (!created.ok()) return chains;
  CheckedRun& run = created.value();
  FindingRoots roots;
  const auto driven = drive(run, [&](const CheckedStep& step) {
    for (const Finding& finding : step.findings) {
      if (rule_info(finding.rule).severity != Severity::error) continue;
      chains.kinds.insert(kind_of(finding));
      roots.add(finding);
    }
  });
  if (!driven.ok()) return chains;
  for (const FindingRoot& root : roots.roots())
    if (chains.beginnings.size() < kMaxExplainedChains) chains.beginnings.push_back(root.finding);
  return chains;
}

class CellRun {
 public:
  CellRun(const MatrixCell& cell, const CellRunOptions& options)
      : cell_(cell),
        options_(options),
        keeps_bytes_(options.make_backend && options.policies == PolicyOverrides{} &&
                     bugs_of(options.profile, cell.runner()).empty()) {
    result_.cell = cell;
  }

  Result<std::optional<CellResult>> run() {
    if (const auto other = stands_for(cell_)) {
      result_.verdict = CellVerdict::same;
      result_.note = cell_name(*other);
      return std::optional<CellResult>(std::move(result_));
    }
    if (std::string refusal = refusal_of(cell_); !refusal.empty()) {
      result_.verdict = CellVerdict::refused;
      result_.note = std::move(refusal);
      return std::optional<CellResult>(std::move(result_));
    }
    for (std::int64_t index = 0; index < options_.num_scenarios; ++index) {
      if (options_.go_on && !options_.go_on()) return std::optional<CellResult>();
      if (Status ran = run_scenario(index); !ran.ok()) return ran.error();
    }
    finish();
    return std::optional<CellResult>(std::move(result_));
  }

 private:
  Status run_scenario(std::int64_t index) {
    const bool in_bytes = keeps_bytes_ && index % kScenariosABytesRun == 0;
    CheckScenarioOptions options;
    if (in_bytes) options.make_backend = options_.make_backend;
    const auto run =
        check_scenario_of_cell(cell_, index, scenario_of_cell(cell_, index, options_), options);
    if (!run.ok()) return run.error();
    const CheckedScenario& seen = run.value();
    ++result_.num_scenarios;
    result_.num_in_bytes += in_bytes;
    result_.num_steps += seen.num_steps;
    result_.num_request_steps += seen.num_request_steps;
    seen.events.add_to(result_.events);
    for (const FindingKind& kind : seen.errors)
      count(findings_, kind, CellFinding{.kind = kind, .first = index});
    if (!seen.errors.empty() && ++result_.num_failing <= kMaxExplained) explain(seen.errors, index);
    return Ok{};
  }

  // Runs the scenario again and asks for the cause of each chain of findings (find_causes), of the
  // first kMaxExplainedChains. Unexplained are chains without a cause, and errors that are no
  // finding (a run that does not end).
  void explain(const std::set<FindingKind>& errors, std::int64_t index) {
    const auto plan = plan_scenario(scenario_of_cell(cell_, index, options_), "matrix");
    const Chains chains = plan.ok() ? chains_of(plan.value()) : Chains{};
    std::set<FindingKind> unexplained;
    std::ranges::set_difference(errors, chains.kinds,
                                std::inserter(unexplained, unexplained.end()));
    const auto causes =
        plan.ok() ? find_causes(plan.value(), chains.beginnings) : std::vector<FindingCause>();
    std::set<std::string> known;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      const FindingKind kind = kind_of(chains.beginnings[i]);
      if (!causes[i].is_known())
        unexplained.insert(kind);
      else if (known.insert(causes[i].key).second)
        add_fault(causes[i].key, kind, index);
    }
    for (const FindingKind& kind : unexplained)
      count(unexplained_, kind, CellFinding{.kind = kind, .first = index});
  }
  void add_fault(const std::string& cause, const FindingKind& kind, std::int64_t index) {
    const auto num_requests =
        static_cast<std::int64_t>(drawn_scenario(cell_, index, options_.seed).requests.size());
    CellFault& fault = faults_[cause];
    if (fault.scenarios == 0 || num_requests < fault.num_requests)
      fault = {.cause = cause,
               .scenarios = fault.scenarios,
               .index = index,
               .num_requests = num_requests,
               .kind = kind};
    ++fault.scenarios;
  }

  void finish() {
    const PolicySet policies = policies_in(cell_, options_.profile, options_.policies);
    for (const MatrixEventInfo& info : matrix_event_table())
      if (info.belongs_to(cell_, policies) &&
          result_.events[static_cast<std::size_t>(info.event)].times == 0)
        result_.missing.push_back(info.event);
    result_.findings = values_of(findings_);
    result_.unexplained = values_of(unexplained_);
    result_.faults = values_of(faults_);
    if (!result_.findings.empty())
      result_.verdict = CellVerdict::has_findings;
    else if (!result_.missing.empty())
      result_.verdict = CellVerdict::untested;
  }

  const MatrixCell& cell_;
  const CellRunOptions& options_;
  // The kernels cannot reproduce kernel faults in bytes (core/trace, KernelVariants), so an engine
  // with bugs or overridden policies runs with symbolic state only.
  bool keeps_bytes_;
  CellResult result_;
  std::map<FindingKind, CellFinding> findings_;
  std::map<FindingKind, CellFinding> unexplained_;
  std::map<std::string, CellFault> faults_;
};

// The layers of the cell, unless the policies name some.
void choose_checkpoint_layers(const MatrixCell& cell, EngineSettings& settings) {
  constexpr std::size_t policy = kPolicyPlace<CheckpointLayers>;
  if (cell.mamba_cache_mode() != MambaCacheMode::align || settings.policies.values[policy]) return;
  const CheckpointLayers layers = cell.checkpoints() == Checkpoints::in_prefills
                                      ? CheckpointLayers::mamba2
                                      : CheckpointLayers::none;
  if (!resolve_policies(settings).is(layers)) settings.policies.set(layers);
}

}  // namespace

std::string_view verdict_name(CellVerdict verdict) {
  static constexpr std::string_view kNames[] = {"safe", "findings", "untested", "refused", "same"};
  return name_at(kNames, verdict);
}

Scenario drawn_scenario(const MatrixCell& cell, std::int64_t index, std::uint64_t seed) {
  Scenario scenario = random_scenario(cell, scenario_seed(cell, index, seed));
  scenario.name = fmt::format("{} {}", cell_name(cell), index);
  return scenario;
}

Scenario scenario_with_policies(const MatrixCell& cell, Scenario drawn,
                                const PolicyOverrides& policies) {
  drawn.settings.policies = policies;
  choose_checkpoint_layers(cell, drawn.settings);
  return drawn;
}

Scenario scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                          const CellRunOptions& options) {
  Scenario scenario = drawn_scenario(cell, index, options.seed);
  EngineSettings& settings = scenario.settings;
  if (options.profile != EngineProfile::safe) settings.engine = options.profile;
  settings.policies = options.policies;
  choose_checkpoint_layers(cell, settings);
  // Where a release chooses an interval by itself, one of a block keeps every state.
  if (cell.enable_prefix_caching() && cell.retention() == Retention::dense &&
      resolved_retention_interval(settings))
    settings.prefix_cache_retention_interval = settings.block_size;
  return scenario;
}

Result<std::optional<CellResult>> run_cell(const MatrixCell& cell, const CellRunOptions& options) {
  return CellRun(cell, options).run();
}

}  // namespace hybridscope
