// Two live runs compared, as lines of text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sessions/diff/session_diff.h"
#include "sessions/record/live_source.h"
#include "sessions/scenario/scenario.h"

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

}  // namespace hybridscope::test
