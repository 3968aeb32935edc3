// The table of known bugs: faults that serving engines shipped. Each row has the policy values that
// bring the bug back and the dates between which it existed. Its description and a scenario that
// shows it are in the file of the same name in scenarios/bugs (sessions/known_bugs).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

// When vLLM had a bug with one runner.
struct BugLife {
  bool occurs = true;                         // false: in no release with this runner
  std::optional<CalendarDate> appeared = {};  // empty: unknown, treated as always
  std::optional<CalendarDate> fixed = {};     // first day without the bug; empty: still open
  constexpr bool alive_on(const CalendarDate& date) const {
    return occurs && (!appeared || *appeared <= date) && (!fixed || date < *fixed);
  }
};

// The releases of vLLM that have a bug with one runner.
struct ReleaseSpan {
  std::optional<Release> first = {};  // empty: none has it
  Release last = kNewestRelease;
  constexpr bool has(Release release) const {
    return first && *first <= release && release <= last;
  }
  constexpr bool is_open() const { return has(kNewestRelease); }
};

struct KnownBug {
  std::string_view id;      // stable; also the name of its file in scenarios/bugs
  std::int32_t number = 0;  // its number in docs/known-bugs.md; 0: none
  std::array<PolicyValue, 2> policies = {};
  BugLife v1 = {};
  BugLife v2 = {};
  ReleaseSpan v1_releases = {};
  ReleaseSpan v2_releases = {};
  std::string_view part = {};  // "b": a fault of its own that shares the number

  // The policy values that are used.
  std::span<const PolicyValue> values() const {
    return std::span(policies).first(policies[1] == PolicyValue() ? 1 : 2);
  }
  const BugLife& life(ModelRunner runner) const { return runner == ModelRunner::v1 ? v1 : v2; }
  const ReleaseSpan& releases(ModelRunner runner) const {
    return runner == ModelRunner::v1 ? v1_releases : v2_releases;
  }
};

// "48", "8b"; empty: it has no number.
std::string bug_number(const KnownBug& bug);

// By number; bugs without a number last.
std::span<const KnownBug> known_bug_table();

// By id or number ("48", "8b"). Error not_found: no bug has this name; the message has the nearest
// id.
Result<const KnownBug*> find_known_bug(std::string_view name);

// The policy values of these bugs; if two set the same policy, the later one wins.
PolicyOverrides policies_of(std::span<const KnownBug* const> bugs);

// The bugs that these policies bring back: of each of a bug's policies they have the value of the
// table, or that of a release that has the bug.
std::vector<const KnownBug*> bugs_with(const PolicySet& policies);

// To run an engine again without a cause: `set` with the policies of `cause` as profile safe has
// them.
PolicyOverrides without_cause(PolicyOverrides set, const PolicyOverrides& cause);

// The bugs that an engine with this profile and runner has: none for safe; for reference those that
// its policies bring; for a release those it has; for a day those that existed on it, ordered by
// the date of their fix, open ones first. So if two set the same policy, the one fixed earliest
// wins: it is the older and wider fault.
std::vector<const KnownBug*> bugs_of(const EngineProfile& profile, ModelRunner runner);

}  // namespace hybridscope
