// A small engine whose steps are checked and explained, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/check/step_checker.h"
#include "core/engine/engine.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

class ExplainedRun {
 public:
  explicit ExplainedRun(const EngineConfig& config);

  RequestId add(const std::string& name, std::int32_t prompt, std::int32_t max_tokens,
                std::int32_t shared = 0);
  // Runs steps up to this one and explains it.
  std::string step(std::int64_t number = 0);

  Engine& engine() { return engine_; }
  const StepTrace& trace() const { return *trace_; }
  const Names& names() const { return names_; }
  const std::vector<Finding>& findings() const { return findings_; }  // of all steps so far

 private:
  Engine engine_;
  StepChecker checker_;
  BlockTableMirror tables_;
  Names names_;
  const StepTrace* trace_ = nullptr;
  std::vector<Finding> findings_;
};

// Which prefixes the prefix cache knows, from the events of the steps and the tokens of the
// requests alone: without hashes and without the cache.

class CachedPrefixes {
 public:
  // Before the lookups of a step are looked at, forget() the step's events: what is left was there
  // during the whole step. Afterwards learn() them, and forget() and learn() those of its commit.
  void forget(std::span<const CacheEvent> events);
  // Requires: the requests of the events have not been released.
  void learn(std::span<const CacheEvent> events, const Engine& engine);

  // Does the group have a block under the first `num_tokens` tokens of the request? Requires: it
  // has not been released.
  bool has(const Engine& engine, RequestId request, std::int32_t group,
           std::int32_t num_tokens) const;
  // Does any group have a block under the first tokens of the request, however many?
  bool has_any(const Engine& engine, RequestId request, std::int32_t num_tokens) const;

 private:
  struct Prefix {
    std::int32_t group = 0;
    std::uint64_t salt = 0;
    std::vector<TokenContent> tokens;
    auto operator<=>(const Prefix&) const = default;
  };
  static Prefix prefix_of(const Engine& engine, RequestId request, std::int32_t group,
                          std::int32_t num_tokens);

  std::map<Prefix, std::set<std::int32_t>> blocks_;  // that are known by it
};

// Whether the reason that a step gives for its graph holds, from the batch and what was captured
// alone: a second, independent look at the dispatch.

// One sentence, empty: it holds. Requires: the step has rows.
std::string broken_graph_reason(const StepTrace& trace, const Engine& engine);

// Recomputes what a text says in numbers: "c = 6 + 2 - 1 rejected = 7", "16 < 24", "end of block
// floor(9 / 8) * 8 = 8". Knows nothing about what the text is about.

// The value of "known 20 - hit 8 (of block 3) - 1". Words, and brackets with words, are left out.
// Empty: what remains is no formula, as of "c + q - d".
std::optional<double> value_of(std::string_view formula);

struct Equations {
  int num_checked = 0;
  std::vector<std::string> wrong = {};  // as printed
};

// All neighbours with "=", "!=", "<", "<=", ">" or ">=" between them of which both are formulas.
// Clauses end at ";", ":", "," and at the end of a line.
Equations check_equations(std::string_view text);

}  // namespace hybridscope::test
