// What can be taken out of a scenario: each edit is a scenario again, which its rules may refuse.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/shrink/probe_run.h"

namespace hybridscope {

// A part of a list, by index.
struct ListPart {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Each thing that a script says, as a step that says nothing else: steps ascending, in one step in
// the order budget, accept, drafts, preempt, abort, reset, profile, policies.
std::vector<ScriptStep> split_script(const std::vector<ScriptStep>& script);
// The other way: things of one step are one entry.
std::vector<ScriptStep> join_script(std::span<const ScriptStep> things);

// Without these requests and what the script says of them. A prompt that shares one of them begins
// with a text of that name instead.
Scenario without_requests(const Scenario& scenario, ListPart part);

// Without these things of split_script().
Scenario without_script(const Scenario& scenario, ListPart part);

// The prompts that share, by index of the request; without the sharing of these of them.
std::vector<std::size_t> sharing_requests(const Scenario& scenario);
Scenario without_sharing(const Scenario& scenario, ListPart part);

// Settings that are set and have a simpler default, by their row. Method and K are one (K's row),
// as neither goes without the other; the size of the pool is none, as its default is the largest.
std::vector<const Setting*> set_settings(const EngineSettings& settings);
// Those of the list back to their defaults; without drafts the script says nothing of drafts.
Scenario without_settings(const Scenario& scenario, ListPart part);

// K drafts a request, and what the script says cut to that.
Scenario with_num_speculative_tokens(const Scenario& scenario, std::int32_t k);

// With a profile other than `safe`: that left out for one of the policies in which it differs from
// `safe`, in the order of the settings table; policies that were set stay. Otherwise empty.
std::vector<Scenario> with_one_policy(const Scenario& scenario);

// Nothing is drawn: what these draws decided stands in the script instead, but for acceptances that
// `rate` gives anyway (0: no draft, 1: every draft; empty: none).
Scenario with_scripted_draws(const Scenario& scenario, std::span<const Draw> draws,
                             std::optional<int> rate);

// Without what happens behind `step`, and each request ended by its max_tokens `margin` output
// tokens after what it has by then.
Scenario cut_behind(const Scenario& scenario, std::int64_t step,
                    std::span<const std::int32_t> num_output_tokens, std::int32_t margin);

}  // namespace hybridscope
