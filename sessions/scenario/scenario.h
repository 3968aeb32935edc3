// A scenario: a small, versioned description of one run that a person can write
// (docs/scenario-format.md). Plain values; files are read by scenario_reader, written by
// scenario_writer, prompts are resolved by scenario_requests.
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

// `tokens` prompt tokens. The first `share_tokens` are those of `share`: of the sequence (prompt,
// then generated output) of the request with that id, else of a text with that name. The others are
// the request's own.
struct PromptSpec {
  std::int32_t tokens = 0;
  std::string share = {};         // empty: nothing is shared
  std::int32_t share_tokens = 0;  // 0 iff nothing is shared
  friend bool operator==(const PromptSpec&, const PromptSpec&) = default;
};

// Joins the waiting queue before step `at_step` and not before `arrival_us` of simulated time.
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

// What happens at one step: `accept` when it samples, everything else before it schedules. Profile
// and policies hold from this step on.
struct ScriptStep {
  std::int32_t step = 1;
  std::optional<std::int32_t> budget = {};  // max_num_batched_tokens of this step only
  std::vector<RequestCount> accept = {};    // worker's count, bonus token included: 1..1+K
  std::vector<RequestCount> drafts = {};    // length of the draft list: 0..K
  std::vector<std::string> preempt = {};
  std::vector<std::string> abort = {};
  PrefixCacheReset reset_prefix_cache = PrefixCacheReset::none;
  std::optional<EngineProfile> engine = {};  // leaves the caching policies as they are
  PolicyOverrides policies = {};             // no caching policies
  friend bool operator==(const ScriptStep&, const ScriptStep&) = default;
};

// Matches every finding of the rule (a slug) that agrees in what is set.
struct ExpectedFinding {
  std::string rule = {};
  std::optional<std::int32_t> step = {};
  std::optional<std::string> request = {};
  friend bool operator==(const ExpectedFinding&, const ExpectedFinding&) = default;
};

// What the author says the run does; an empty optional says nothing.
struct Expectation {
  std::optional<std::vector<ExpectedFinding>> findings = {};  // empty list: none
  std::optional<std::int32_t> steps = {};                     // steps until nothing is left to do
  std::optional<std::int32_t> finished = {};                  // requests that ended by themselves
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

struct Scenario {
  std::int32_t version = kScenarioVersion;
  std::string name = {};
  std::string teaches = {};  // one sentence
  std::string model = {};    // preset name or path of a config.json
  EngineSettings settings = {};
  std::optional<EngineSettings> twin = {};  // settings that a second run changes
  std::vector<ScenarioRequest> requests = {};
  std::vector<ScriptStep> script = {};  // ascending steps
  Expectation expect = {};
  friend bool operator==(const Scenario&, const Scenario&) = default;
};

}  // namespace hybridscope
