// Which known bug the findings of every shipped bug's scenario are put down to, under every release
// that has the bug, with symbolic states, with states in bytes and with a language model.
// attributions.txt has the table; HYBRIDSCOPE_UPDATE_GOLDEN=1 writes it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_plan.h"
#include "sessions/weights/load_model.h"

namespace hybridscope::attribution_test {
namespace {

enum class Fidelity : std::uint8_t { symbolic, bytes, numeric };

std::string fidelity_name(Fidelity fidelity) {
  return fidelity == Fidelity::symbolic ? "symbolic"
         : fidelity == Fidelity::bytes  ? "bytes"
                                        : "numeric";
}

// Empty: the run cannot keep its state in bytes.
std::unique_ptr<StateBackend> bytes_of(const RunPlan& plan) {
  auto memory = plan_state_memory(plan.setup, plan.settings, {.bytes = std::int64_t{1} << 40});
  if (!memory.ok()) return nullptr;
  return CpuStateBackend::create(std::move(memory).value()).value();
}

// The first finding of each chain, then the first warning of each kind.
std::vector<Finding> beginnings_of(CheckedRun& run) {
  FindingRoots roots;
  std::vector<Finding> warnings;
  while (!run.has_ended()) {
    const auto step = run.step();
    if (!step.ok()) break;
    for (const Finding& finding : step.value().findings) {
      if (rule_info(finding.rule).severity == Severity::error)
        roots.add(finding);
      else if (std::ranges::none_of(warnings, [&](const Finding& known) {
                 return known.rule == finding.rule && known.detail == finding.detail;
               }))
        warnings.push_back(finding);
    }
  }
  std::vector<Finding> beginnings;
  for (const FindingRoot& root : roots.roots()) beginnings.push_back(root.finding);
  beginnings.insert(beginnings.end(), warnings.begin(), warnings.end());
  return beginnings;
}

bool is_there(const Finding& finding, const RunPlan& plan, const CauseSearchOptions& options) {
  auto run = CheckedRun::create(plan, {.language = options.language});
  if (!run.ok()) return true;
  while (!run.value().has_ended()) {
    const auto step = run.value().step();
    if (!step.ok() || step.value().trace.step > finding.step) return false;
    for (const Finding& other : step.value().findings)
      if (other.rule == finding.rule && other.detail == finding.detail &&
          other.request == finding.request)
        return true;
  }
  return false;
}

RunPlan without(const RunPlan& plan, const PolicyOverrides& cause) {
  RunPlan left = plan;
  switch_off(cause, left.settings, left.script);
  left.setup = make_engine_setup(plan.setup.layout.model, left.settings).value();
  return left;
}

// Its findings follow from those of another bug of the release, or the two are one policy and the
// finding fits the other: no. 9 and no. 4 begin in the same row, so do no. 4 and no. 3.
struct HiddenBug {
  std::string_view number;
  ModelRunner runner;
  Release first, last;
};
constexpr HiddenBug kHidden[] = {
    {"9", ModelRunner::v1, Release::v0_24_0, Release::v0_28_0},
    {"4", ModelRunner::v2, Release::v0_25_1, Release::v0_27_1},
    {"51", ModelRunner::v1, Release::v0_24_0, Release::v0_24_0},
};

bool is_hidden(const KnownBug& bug, Release release, ModelRunner runner) {
  return std::ranges::any_of(kHidden, [&](const HiddenBug& one) {
    return one.number == bug_number(bug) && one.runner == runner && one.first <= release &&
           release <= one.last;
  });
}

class Attributions {
 public:
  explicit Attributions(Fidelity fidelity) : fidelity_(fidelity) {
    if (fidelity == Fidelity::numeric)
      options_.language.model = std::make_shared<const HybridModel>(
          std::move(load_model(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_qwen3_5_text")
                        .value()
                        .model));
  }

  // "5": the numbers, or else ids, of the bugs that the run's findings are put down to, in order;
  // the policies of `mended` are as in profile safe.
  std::string of(const KnownBug& bug, Release release, ModelRunner runner,
                 const PolicyOverrides& mended = {}) {
    Scenario scenario = shipped_bug(bug.id).value().scenario;
    scenario.settings.engine = EngineProfile::vllm(release);
    scenario.settings.runner = runner;
    // Up to 0.27.1 a release has prefix caching off unless it is asked for.
    if (scenario.settings.mamba_cache_mode != MambaCacheMode::none)
      scenario.settings.enable_prefix_caching =
          scenario.settings.enable_prefix_caching.value_or(true);
    switch_off(mended, scenario.settings, scenario.script);
    auto planned = plan_scenario(scenario, "scenario");
    if (!planned.ok()) return "refused";
    const RunPlan& plan = planned.value();
    CheckedRunOptions checks{.language = options_.language};
    if (fidelity_ == Fidelity::bytes && (checks.state = bytes_of(plan)) == nullptr)
      return "refused";
    auto created = CheckedRun::create(plan, std::move(checks));
    if (!created.ok()) return "refused";
    const std::vector<Finding> beginnings = beginnings_of(created.value());
    if (beginnings.empty()) return "nothing found";
    std::vector<std::string> names;
    bool is_named = false;
    const auto causes = find_causes(plan, beginnings, options_);
    for (std::size_t i = 0; i < causes.size(); ++i) {
      const FindingCause& cause = causes[i];
      EXPECT_FALSE(cause.is_known() &&
                   is_there(beginnings[i], without(plan, cause.policies), options_))
          << cause.words << ": the finding is there without it";
      for (const auto& same : cause.bugs) is_named = is_named || std::ranges::count(same, &bug) > 0;
      const std::string name = name_of(cause);
      if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
    if (mended == PolicyOverrides())
      EXPECT_EQ(is_named, !is_hidden(bug, release, runner)) << joined(names, ", ");
    return joined(names, ", ");
  }

 private:
  static std::string joined(const std::vector<std::string>& names, const std::string& between) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
    return text;
  }

  static std::string name_of(const FindingCause& cause) {
    if (!cause.is_known()) return cause.not_searched.empty() ? "unknown" : cause.not_searched;
    if (cause.bugs.empty()) return cause.key;
    std::vector<std::string> parts;
    for (const auto& same : cause.bugs) {
      std::vector<std::string> names;
      for (const KnownBug* bug : same)
        names.push_back(bug->number > 0 ? bug_number(*bug) : std::string(bug->id));
      parts.push_back(joined(names, " or "));
    }
    return joined(parts,
                  cause.words.find("together with") != std::string::npos ? " with " : " and ");
  }

  Fidelity fidelity_;
  CauseSearchOptions options_;
};

// One line: "V1 0.24.0 to 0.27.1: 4; 0.28.0: 4, 9".
std::string line_of(const KnownBug& bug, ModelRunner runner, Attributions& attributions) {
  std::string line;
  std::string last;
  std::string begin;
  std::string end;
  const auto close = [&] {
    if (begin.empty()) return;
    line += fmt::format("{}{}{}: {}", line.empty() ? "" : "; ", begin,
                        begin == end ? "" : " to " + end, last);
  };
  for (std::size_t i = 0; i < release_names().size(); ++i) {
    const auto release = static_cast<Release>(i);
    if (!bug.releases(runner).has(release)) continue;
    const std::string name(release_name(release));
    SCOPED_TRACE(fmt::format("{} in {}", bug.id, name));
    const std::string causes = attributions.of(bug, release, runner);
    if (causes != last || begin.empty()) {
      close();
      begin = name;
      last = causes;
    }
    end = name;
  }
  close();
  return line;
}

std::string table_of(Fidelity fidelity) {
  Attributions attributions(fidelity);
  std::string table;
  for (const KnownBug& bug : known_bug_table())
    for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2}) {
      const std::string line = line_of(bug, runner, attributions);
      if (line.empty()) continue;
      const std::string number = bug_number(bug);
      table += fmt::format("{} | {} | {} | {}\n", number.empty() ? bug.id : number,
                           runner == ModelRunner::v1 ? "V1" : "V2", fidelity_name(fidelity), line);
    }
  return table;
}

// The lines of the table for one fidelity.
std::string table_in_file(const std::string& path, Fidelity fidelity) {
  std::ifstream file(path, std::ios::binary);
  const std::string mark = fmt::format(" | {} | ", fidelity_name(fidelity));
  std::string lines;
  for (std::string line; std::getline(file, line);)
    if (line.find(mark) != std::string::npos) lines += line + "\n";
  return lines;
}

// The policies of the release's other bugs, but for those that are also of this bug.
PolicyOverrides policies_of_others(const KnownBug& bug, Release release, ModelRunner runner) {
  std::vector<const KnownBug*> others = bugs_of(EngineProfile::vllm(release), runner);
  std::erase(others, &bug);
  PolicyOverrides policies = policies_of(others);
  for (const PolicyValue& value : bug.values()) policies.values[value.place].reset();
  return policies;
}

// A policy of no. 12b is all of no. 8b, and one policy brings no. 18 and no. 19.
std::string expected_alone(const KnownBug& bug) {
  const std::string number = bug_number(bug);
  if (number == "12b") return "12b, 8b";
  if (number == "18") return "19, 18";
  return number.empty() ? std::string(bug.id) : number;
}

TEST(Attributions, OfAReleaseWhoseOtherBugsAreMendedNameThatBugAndNoOther) {
  Attributions attributions(Fidelity::symbolic);
  int num_named = 0;
  for (const KnownBug& bug : known_bug_table())
    for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2})
      for (std::size_t i = 0; i < release_names().size(); ++i) {
        const auto release = static_cast<Release>(i);
        if (!bug.releases(runner).has(release)) continue;
        const std::string named =
            attributions.of(bug, release, runner, policies_of_others(bug, release, runner));
        if (named == "refused") continue;  // by the runner, as attributions.txt says
        ++num_named;
        EXPECT_EQ(named, expected_alone(bug)) << bug.id << " in " << release_name(release)
                                              << (runner == ModelRunner::v1 ? " V1" : " V2");
      }
  EXPECT_GT(num_named, 200);
}

// With a language model that takes a minute, so it is left to the nightly tests, which set
// HYBRIDSCOPE_TIMES.
TEST(Attributions, OfEveryShippedBugInEveryReleaseAreThoseOfTheTable) {
  const std::string path =
      std::string(HYBRIDSCOPE_SOURCE_DIR) + "/tests/sessions/known_bugs/attributions.txt";
  const bool update = std::getenv("HYBRIDSCOPE_UPDATE_GOLDEN") != nullptr;
  std::vector<Fidelity> fidelities = {Fidelity::symbolic, Fidelity::bytes};
  if (update || std::getenv("HYBRIDSCOPE_TIMES") != nullptr)
    fidelities.push_back(Fidelity::numeric);
  std::string table;
  for (const Fidelity fidelity : fidelities) {
    const std::string lines = table_of(fidelity);
    if (!update) {
      EXPECT_EQ(lines, table_in_file(path, fidelity)) << fidelity_name(fidelity);
    }
    table += lines;
  }
  if (update) std::ofstream(path, std::ios::binary) << table;
}

}  // namespace
}  // namespace hybridscope::attribution_test
