// Runs a scenario's engine under the checker and collects what its traces say, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sessions/scenario/scenario.h"

namespace hybridscope::test {

struct ScenarioRun {
  std::vector<std::string> findings;  // slug, step, request; warnings too
  std::int64_t num_steps = 0;         // steps that scheduled tokens
  std::int64_t num_idle_steps = 0;    // that scheduled nothing and in which no frame returned
  std::int32_t num_finished = 0;
  std::int32_t num_preempted = 0;
  std::int32_t num_evicted = 0;  // blocks that lost their hash
  std::int32_t num_ignored_commands = 0;
  std::int32_t num_within_block_shifts = 0;
  std::int32_t num_boundary_copies = 0;            // post-copies of either kind
  std::int32_t num_padding_rows = 0;               // over all steps
  std::map<std::string, std::int32_t> hit_tokens;  // at a request's last admission
  std::vector<std::string> steps;                  // "A:decode q=1 d=0 a=1 | ..." of each step
};

ScenarioRun run_scenario(const Scenario& scenario);

}  // namespace hybridscope::test
