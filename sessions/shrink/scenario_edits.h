// Edits that remove parts of a scenario or lower its numbers, and the search through a list of
// them. The result is a scenario that may be invalid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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

// Splits a script into steps with one command each. Steps ascend; within a step the order is
// budget, accept, drafts, preempt, abort, reset, profile, policies.
std::vector<ScriptStep> split_script(const std::vector<ScriptStep>& script);
// The inverse: merges the commands of a step into one entry.
std::vector<ScriptStep> join_script(std::span<const ScriptStep> things);

// Removes these requests and their commands. A prompt that shares one of them begins with a text of
// that name instead.
Scenario without_requests(const Scenario& scenario, ListPart part);

// Removes these elements of split_script().
Scenario without_script(const Scenario& scenario, ListPart part);

// The indexes of requests whose prompts share, and the scenario without the sharing of some of
// them.
std::vector<std::size_t> sharing_requests(const Scenario& scenario);
Scenario without_sharing(const Scenario& scenario, ListPart part);

// The rows of settings that are set and can go back to a simpler default. Method and K are removed
// together, as K's row, because neither is valid alone. The size of the pool is not included: its
// default is the largest.
std::vector<const Setting*> set_settings(const EngineSettings& settings);
// Sets these settings back to their defaults. Without drafts the script's drafts are removed too.
Scenario without_settings(const Scenario& scenario, ListPart part);

// Lowers K to `k`, and the script's counts accordingly.
Scenario with_num_speculative_tokens(const Scenario& scenario, std::int32_t k);

// If the profile is not `safe`: one scenario for each policy in which the profile differs from
// `safe`, with that policy set in place of the profile, in the order of the settings table.
// Policies that are set stay. Otherwise empty.
std::vector<Scenario> with_one_policy(const Scenario& scenario);

// Replaces random draws by scripted values, so that nothing is drawn. Accepted counts that a fixed
// `rate` gives anyway are not scripted (0: no draft accepted, 1: every draft; empty: no fixed
// rate).
Scenario with_scripted_draws(const Scenario& scenario, std::span<const Draw> draws,
                             std::optional<int> rate);

// Removes everything after `step`, and lowers each request's max_tokens to `margin` tokens more
// than its output up to then.
Scenario cut_behind(const Scenario& scenario, std::int64_t step,
                    std::span<const std::int32_t> num_output_tokens, std::int32_t margin);

// The numbers of a scenario that could be smaller, each with its least value.

struct ScenarioNumber {
  std::int64_t value = 0;
  std::int64_t least = 0;  // below `value`
  // Returns the scenario with another value. Dependent numbers are lowered too (a prompt's shared
  // tokens, counts above K + 1).
  std::function<Scenario(const Scenario&, std::int64_t)> set;
};

// In this order: each request's prompt, shared tokens and output tokens; the steps at which
// something happens, first moved together with all later ones, then alone; arrival, salt and
// priority; the script's counts and budgets; integer settings except the seed. Numbers at their
// least value are left out.
std::vector<ScenarioNumber> scenario_numbers(const Scenario& scenario);

// Delta debugging on a list: tries to remove large parts first, down to single elements, and within
// each size the last part first.

// `drop(first, count)` tries to remove elements [first, first + count) of the current list and
// returns whether it did; `more()` is asked before each try. Returns whether anything was removed.
template <class Drop, class More>
bool reduce_list(std::size_t size, const Drop& drop, const More& more) {
  bool dropped = false;
  for (std::size_t part = size; part > 0; part /= 2) {
    for (std::size_t end = size; end > 0;) {
      if (!more()) return dropped;
      const std::size_t first = end > part ? end - part : 0;
      if (drop(first, end - first)) {
        size -= end - first;
        dropped = true;
      }
      end = first;
    }
    part = std::min(part, std::max<std::size_t>(size, 1));
  }
  return dropped;
}

}  // namespace hybridscope
