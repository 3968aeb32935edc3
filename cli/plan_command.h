// hybridscope plan: what a model and its settings hold, and which settings for its traffic.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/cli_fwd.h"
#include "cli/plan_options.h"
#include "sessions/plan/plan_jobs.h"

namespace hybridscope {

// How far a plan is, and how long the rest may take.

// The runs of one step time; with --step-time others follow.
struct PlanPass {
  std::string_view suffix = {};  // of the results' names: " (step time x2)"
  std::size_t later = 0;         // passes that follow
};

// "3 of 8 runs (step time x0.5), then as many with 1 other step time, about 26 s left".
// `seconds`: since the pass began; the estimate is for the later ones too.
std::string plan_progress_words(const PlanPass& pass, const PlanProgress& at, double seconds);

class PlanClock {
 public:
  explicit PlanClock(const PlanPass& pass) : pass_(pass) {}
  std::string text(const PlanProgress& at) const;

 private:
  PlanPass pass_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// hybridscope plan without traffic: what a model and its settings hold.

int plan_sizes(const PlanCommandOptions& options);

// Adds the options and the subcommand `fit`; the result runs what was given.
std::function<int()> add_plan_command(CLI::App& plan);

}  // namespace hybridscope
