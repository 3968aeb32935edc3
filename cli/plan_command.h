// hybridscope plan: what a model and its settings hold, and which settings for its traffic; its
// options (plan_options.cpp), and hybridscope plan fit (plan_fit.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.h"
#include "sessions/job/plan_question.h"
#include "sessions/job/step_files.h"
#include "sessions/plan/plan_jobs.h"

namespace hybridscope {

struct PlanCommandOptions : PlanJobOptions {
  bool json = false;

  // Without traffic.
  std::int32_t prompt = 0;  // 0: not given
  std::int32_t output = 0;
  std::int32_t shared = 0;

  // With traffic.
  std::int64_t top = 0;            // rows of the table, 0: kDefaultRows
  std::string html;                // page, "-": standard output
  std::vector<std::string> merge;  // result files
  bool list = false;
  bool quiet = false;
};

// `options` must outlive the parsing.
void add_plan_options(CLI::App& command, PlanCommandOptions& options);

// What it reads and writes.
CommandFiles files_of(const PlanCommandOptions& options);

// An option that was given and means nothing for result files; empty: none.
std::string_view option_not_for_merge(const PlanCommandOptions& options);
// An option that was given and means nothing without traffic; empty: none.
std::string_view option_for_traffic(const PlanCommandOptions& options);

// The runs of one step time; with --step-time others follow.
struct PlanPass {
  std::string_view suffix = {};  // of the results' names: " (step time x2)"
  std::size_t later = 0;         // passes that follow
};

// "3 of 8 runs (step time x0.5), then as many with 1 other step time, about 26 s left".
// `seconds`: since the pass began; the estimate is for the later ones too.
std::string plan_progress_words(const PlanPass& pass, const PlanProgress& at, double seconds);

// Adds the options and the subcommand `fit`; the result runs what was given.
std::function<int()> add_plan_command(CLI::App& plan);

// hybridscope plan fit: a step time from recorded traces. Adds the subcommand; the result runs it.
std::function<int()> add_plan_fit(CLI::App& plan);

}  // namespace hybridscope
