// Random small scenarios under the reference's policies: what is shrunk shows the same rule, is a
// valid file, is not larger, and cannot be shrunk further.
#include <gtest/gtest.h>

#include <string>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "sessions/run/run_summary.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/shrink/probe_run.h"
#include "sessions/shrink/scenario_edits.h"
#include "sessions/shrink/shrink_scenario.h"
#include "tests/support/property.h"

namespace hybridscope::shrink_property_test {
namespace {

using test::draw;
using test::one_in;

ScenarioRequest draw_request(std::size_t index) {
  ScenarioRequest request;
  request.id = std::string(1, static_cast<char>('A' + index));
  request.prompt.tokens = one_in(4) ? 1 : draw(1, 20);
  if (one_in(3)) {
    request.prompt.share = index > 0 && one_in(2) ? "A" : "text";
    request.prompt.share_tokens = draw(1, request.prompt.tokens);
  }
  request.max_tokens = draw(1, 10);
  request.at_step = one_in(2) ? 1 : draw(1, 8);
  return request;
}

ScriptStep draw_step(std::int32_t step, const Scenario& scenario) {
  ScriptStep script;
  script.step = step;
  for (const ScenarioRequest& request : scenario.requests) {
    if (request.at_step > step) continue;
    const std::int32_t k = scenario.settings.num_speculative_tokens.value_or(0);
    if (k > 0 && one_in(2)) script.accept.push_back({request.id, draw(1, 1 + k)});
    if (one_in(8)) script.preempt.push_back(request.id);
  }
  if (one_in(2) || script == ScriptStep{.step = step}) script.budget = draw(1, 16);
  return script;
}

Scenario draw_scenario() {
  Scenario scenario;
  scenario.model = one_in(2) ? "tiny-mamba2" : "tiny-gdn";
  EngineSettings& settings = scenario.settings;
  settings.block_size = 4 * draw(1, 2);
  settings.num_gpu_blocks_override = draw(16, 40);
  settings.max_num_batched_tokens = 16;
  settings.async_scheduling = one_in(2);
  settings.mamba_cache_mode = one_in(3) ? MambaCacheMode::none : MambaCacheMode::align;
  if (one_in(4)) settings.runner = ModelRunner::v2;
  if (const std::int32_t k = draw(0, 3); k > 0) settings.num_speculative_tokens = k;
  settings.seed = draw(0, 1000);
  if (one_in(2))
    settings.engine = EngineProfile::reference;
  else if (one_in(2))
    settings.policies.set(RowClassing::by_shape);
  else
    settings.policies.set(AcceptedCountOwner::persistent_row);
  const std::int32_t num_requests = draw(1, 4);
  for (std::int32_t i = 0; i < num_requests; ++i)
    scenario.requests.push_back(draw_request(static_cast<std::size_t>(i)));
  for (std::int32_t step = draw(1, 4); step < 10; step += draw(1, 4))
    scenario.script.push_back(draw_step(step, scenario));
  return scenario;
}

// Everything that a run finds is expected, and everything expected occurs.
bool meets_expectation(const Scenario& scenario) {
  const ProbedRun run = probe_run(scenario, {}).value();
  return scenario.expect.findings == run.found;
}

void check_shrunk(const Scenario& scenario) {
  const ShrunkScenario shrunk = shrink_scenario(scenario, {}).value();
  RC_ASSERT(shrunk.end == ShrinkEnd::smallest);
  const auto read = parse_scenario({.text = write_scenario(shrunk.scenario), .file = "shrunk"});
  RC_ASSERT(read.ok());
  RC_ASSERT(read.value() == shrunk.scenario);
  RC_ASSERT(probe_run(scenario, {}).value().violation->finding.rule == shrunk.rule);
  const ProbedRun run = probe_run(shrunk.scenario, {.rule = shrunk.rule}).value();
  RC_ASSERT(run.violation.has_value());
  RC_ASSERT(run.violation->text == shrunk.text);
  RC_ASSERT(meets_expectation(shrunk.scenario));
  RC_ASSERT(shrunk.size_after <= shrunk.size_before);
  RC_ASSERT(shrunk.size_after.steps <= shrunk.size_before.steps);
  RC_ASSERT(shrunk.size_after.violation_step <= shrunk.size_before.violation_step);
  RC_ASSERT(count_tokens(shrunk.scenario).prompt <= count_tokens(scenario).prompt);
  RC_ASSERT(count_tokens(shrunk.scenario).output <= count_tokens(scenario).output);
  const ShrunkScenario again = shrink_scenario(shrunk.scenario, {.rule = shrunk.rule}).value();
  RC_ASSERT(again.scenario == shrunk.scenario);
}

TEST(ShrinkProperty, WhatIsShrunkShowsTheSameIsValidIsNotLargerAndIsTheSmallest) {
  int shrunk = 0;
  test::check_property(25, [&] {
    const Scenario scenario = draw_scenario();
    if (!check_scenario(scenario).ok()) return;
    const auto run = probe_run(scenario, {});
    if (!run.ok() || !run.value().violation) return;
    RC_LOG() << write_scenario(scenario);
    check_shrunk(scenario);
    ++shrunk;
  });
  EXPECT_GE(shrunk, 5);  // else the scenarios say little
}

}  // namespace
}  // namespace hybridscope::shrink_property_test
