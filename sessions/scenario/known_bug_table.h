// The table of known bugs: faults that serving engines shipped, each with the policy values that
// bring it back and the days between which it lived. What people read of them, and the scenario
// that shows each, is a file of scenarios/bugs with the same name (sessions/known_bugs).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

// When a bug was in vLLM with one runner.
struct BugLife {
  bool occurs = true;                         // false: never with this runner, in no release
  std::optional<CalendarDate> appeared = {};  // none: not known, taken as ever
  std::optional<CalendarDate> fixed = {};     // the first day without it; none: open
  constexpr bool alive_on(const CalendarDate& date) const {
    return occurs && (!appeared || *appeared <= date) && (!fixed || date < *fixed);
  }
};

struct PolicyChoice {
  std::string_view policy;  // of section "policies"; empty: none
  std::string_view value;
};

struct KnownBug {
  std::string_view id;      // stable; the name of its file in scenarios/bugs
  std::int32_t number = 0;  // as docs/known-bugs.md has it; 0: none
  std::array<PolicyChoice, 2> policies = {};
  BugLife v1 = {};
  BugLife v2 = {};

  // The values that are there.
  std::span<const PolicyChoice> choices() const {
    return {policies.data(), policies[1].policy.empty() ? std::size_t{1} : policies.size()};
  }
  const BugLife& life(ModelRunner runner) const { return runner == ModelRunner::v1 ? v1 : v2; }
};

// By number, those without one last.
std::span<const KnownBug> known_bug_table();

// By id or number ("48"). Error not_found: none is called so, with the nearest id.
Result<const KnownBug*> find_known_bug(std::string_view name);

// The policy values of these bugs; of two values of one policy the later bug's.
PolicyOverrides policies_of(std::span<const KnownBug* const> bugs);

// The bugs of the table that an engine of this profile has with this runner. Profile safe has none,
// pages those that its policies bring. Those of a day come in the order of their ends, open ones
// first: where two set the same policy, the one that was fixed first is the older and wider fault,
// and its value is the one that holds.
std::vector<const KnownBug*> bugs_of(const EngineProfile& profile, ModelRunner runner);

}  // namespace hybridscope
