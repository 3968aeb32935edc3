// Two live runs compared, as lines of text.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sessions/diff/session_diff.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test {

// scenarios/NAME.json.
Scenario shipped_scenario(const std::string& name);
Scenario scenario_of(const std::string& json);

using Change = std::function<void(Scenario&)>;

std::unique_ptr<LiveSource> live_source(const Scenario& scenario,
                                        RecordLevel level = RecordLevel::full);

struct Compared {
  // "step 2 A rows.num_sampled_tokens: 2 | 1", "step 2 state_copies.dst_block group 1: 4 | 5",
  // "step 7-9 only in a".
  std::vector<std::string> lines;
  DiffSummary summary;
};

Compared compare_sources(StepSource& a, StepSource& b,
                         const std::vector<std::string>& ignored = {});
Compared compare_runs(const Scenario& a, const Scenario& b,
                      const std::vector<std::string>& ignored = {},
                      RecordLevel level = RecordLevel::full);

std::string describe(const FieldDifference& difference, const RequestNumbers& names);

inline std::string describe(const StepDifference& difference) {
  std::string text = fmt::format("step {}", difference.step);
  if (difference.tail) text += fmt::format("-{}", difference.last_step);
  return text + (difference.presence == StepPresence::only_a ? " only in a" : " only in b");
}

inline Scenario shipped_scenario(const std::string& name) {
  return read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
      .value();
}

inline Scenario scenario_of(const std::string& json) {
  return parse_scenario({.text = json, .file = "test.json"}).value();
}

inline std::unique_ptr<LiveSource> live_source(const Scenario& scenario, RecordLevel level) {
  auto plan = plan_scenario(scenario, "test.json");
  return LiveSource::create(std::move(plan).value(), level, scenario.name).value();
}

inline std::string describe(const FieldDifference& d, const RequestNumbers& names) {
  std::string text;
  if (d.request >= 0) text += std::string(names.name(d.request)) + " ";
  text += fmt::format("{}.{}", diff_list(d.list).name, d.field);
  if (!d.part.empty() && d.part != d.field) text += fmt::format(" {}", d.part);
  if (d.group >= 0) text += fmt::format(" group {}", d.group);
  if (d.column >= 0) text += fmt::format(" column {}", d.column);
  if (d.index >= 0) text += fmt::format("[{}]", d.index);
  return text + fmt::format(": {} | {}", d.a.text(), d.b.text());
}

inline Compared compare_sources(StepSource& a, StepSource& b,
                                const std::vector<std::string>& ignored) {
  SessionDiff diff(a, b, IgnoreRules::parse(ignored).value());
  Compared compared;
  while (const StepDifference* difference = diff.next().value()) {
    if (difference->presence != StepPresence::both) compared.lines.push_back(describe(*difference));
    for (const FieldDifference& field : difference->fields)
      compared.lines.push_back(
          fmt::format("step {} {}", difference->step, describe(field, diff.names())));
  }
  compared.summary = diff.summary();
  return compared;
}

inline Compared compare_runs(const Scenario& a, const Scenario& b,
                             const std::vector<std::string>& ignored, RecordLevel level) {
  const auto source_a = live_source(a, level);
  const auto source_b = live_source(b, level);
  return compare_sources(*source_a, *source_b, ignored);
}

}  // namespace hybridscope::test
