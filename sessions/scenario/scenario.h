// A scenario: a small, versioned, human-written description of one run (docs/scenario-format.md).
// Plain values; scenario_reader reads files, scenario_writer writes them, scenario_requests
// resolves prompts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sessions/scenario/settings.h"

namespace hybridscope {

inline constexpr std::int32_t kScenarioVersion = 1;
inline constexpr std::int32_t kMaxPromptTokens = 1 << 24;
inline constexpr std::int32_t kMaxOutputTokens = 1 << 24;
inline constexpr std::int32_t kMaxStep = 1'000'000'000;
inline constexpr std::int64_t kMaxArrivalUs = std::int64_t{1} << 52;

// A prompt of `tokens` tokens. The first `share_tokens` are taken from `share`: from the sequence
// (prompt, then generated output) of the request with that id, or else from a text with that name.
// The rest is `text`, one token a byte; without a text it occurs in no other request.
struct PromptSpec {
  std::int32_t tokens = 0;
  std::string share = {};         // empty: nothing is shared
  std::int32_t share_tokens = 0;  // 0 iff nothing is shared
  std::string text = {};          // empty, or of tokens - share_tokens bytes
  friend bool operator==(const PromptSpec&, const PromptSpec&) = default;
};

// Joins the waiting queue before step `at_step`, but not before `arrival_us` of simulated time.
struct ScenarioRequest {
  std::string id = {};
  PromptSpec prompt = {};
  std::int32_t max_tokens = 1;
  std::int32_t priority = 0;
  std::int32_t at_step = 1;  // steps count from 1
  std::int64_t arrival_us = 0;
  std::uint64_t cache_salt = 0;
  friend bool operator==(const ScenarioRequest&, const ScenarioRequest&) = default;
};

struct RequestCount {
  std::string request = {};
  std::int32_t count = 0;
  friend bool operator==(const RequestCount&, const RequestCount&) = default;
};

enum class PrefixCacheReset : std::uint8_t { none, unless_running, preempting_running };

// The commands of one step. `accept` applies when the step samples, everything else before it
// schedules. Profile and policies hold from this step on.
struct ScriptStep {
  std::int32_t step = 1;
  std::optional<std::int32_t> budget = {};  // max_num_batched_tokens for this step only
  std::vector<RequestCount> accept = {};    // num_accepted_tokens, bonus token included: 1..1+K
  std::vector<RequestCount> drafts = {};    // length of the draft list: 0..K
  std::vector<std::string> preempt = {};
  std::vector<std::string> abort = {};
  PrefixCacheReset reset_prefix_cache = PrefixCacheReset::none;
  std::optional<EngineProfile> engine = {};  // does not change the caching policies
  PolicyOverrides policies = {};             // caching policies not allowed
  friend bool operator==(const ScriptStep&, const ScriptStep&) = default;
};

// Matches every finding of the rule (a slug) that equals all members that are set.
struct ExpectedFinding {
  std::string rule = {};
  std::optional<std::int32_t> step = {};
  std::optional<std::string> request = {};
  friend bool operator==(const ExpectedFinding&, const ExpectedFinding&) = default;
};

// A known bug that the scenario shows where the engine has it; with `first` and `last` only in
// these releases.
struct ExpectedBug {
  std::string id = {};  // in the table of known bugs
  std::optional<Release> first = {};
  std::optional<Release> last = {};
  friend bool operator==(const ExpectedBug&, const ExpectedBug&) = default;
};

// What the author expects of the run; an empty optional expects nothing in particular.
struct Expectation {
  std::optional<std::vector<ExpectedFinding>> findings = {};  // empty list: no findings
  std::optional<std::int32_t> steps = {};     // number of steps until the run has ended
  std::optional<std::int32_t> finished = {};  // number of requests that ended by themselves
  std::vector<ExpectedBug> known_bugs = {};   // looked at with --expect-known-bugs only
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

struct Scenario {
  std::int32_t version = kScenarioVersion;
  std::string name = {};
  std::string teaches = {};  // one sentence
  std::string model = {};    // preset name or path of a config.json
  EngineSettings settings = {};
  std::optional<EngineSettings> twin = {};  // settings that the twin changes
  std::vector<ScenarioRequest> requests = {};
  std::vector<ScriptStep> script = {};  // ascending by step
  Expectation expect = {};
  friend bool operator==(const Scenario&, const Scenario&) = default;
};

}  // namespace hybridscope
