// Random scenarios for the naive engine as plain data, so that another engine can run the same
// ones: a configuration, and for each step the commands before it and its token budget.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/naive_engine.h"

namespace hybridscope::test {

enum class NaiveCommandKind { add, preempt, abort, reset, reset_running };

struct NaiveCommand {
  NaiveCommandKind kind = NaiveCommandKind::add;
  int request = -1;       // preempt, abort; ignored if the request does not exist yet
  NaiveRequestSpec spec;  // add
};

struct NaiveScenario {
  std::uint64_t seed = 0;
  NaiveConfig config;
  std::map<int, std::vector<NaiveCommand>> commands;  // step -> commands before it, in order
  std::map<int, int> budgets;                         // step -> token budget of that step only
  int last_event_step() const;
};

struct NaiveRun {
  std::vector<NaiveStep> steps;
  std::vector<NaiveViolation> violations;          // of all steps
  bool finished = false;                           // did all requests end within the step limit?
  std::vector<std::vector<std::uint64_t>> tokens;  // [request] prompt and output at the end
};

// The engine that runs a scenario. Asynchronous scheduling and V2 always draft K tokens.
struct NaiveVariant {
  bool async_scheduling = false;
  NaiveRunner runner = NaiveRunner::v1;
};

// The scenario of a seed. Tokens, acceptance and drafts are functions of the seed, independent of
// the order of the calls.
NaiveScenario random_naive_scenario(NaiveCacheMode mode, std::uint64_t seed,
                                    NaiveVariant variant = {});

// Runs a scenario on a new engine until every request has ended, for at most `step_limit` steps.
// `first_violation`: ends after the first step with a violation (`finished` is then false).
enum class NaiveRunUntil { all_finished, first_violation };
NaiveRun run_naive_scenario(const NaiveScenario& scenario,
                            NaiveRunUntil until = NaiveRunUntil::all_finished,
                            int step_limit = 2000);

// What is wrong with a run that should be clean: it did not finish, blocks are still held, or its
// first violation. Empty: nothing.
std::string fault_of(const NaiveScenario& scenario, const NaiveRun& run);

// Applies one command; for engines driven by hand.
void apply_naive_command(NaiveEngine& engine, const NaiveCommand& command);

}  // namespace hybridscope::test
