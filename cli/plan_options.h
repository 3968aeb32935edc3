// The options of hybridscope plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_fwd.h"
#include "sessions/job/output_targets.h"
#include "sessions/job/plan_question.h"

namespace hybridscope {

struct PlanCommandOptions : PlanJobOptions {
  bool json = false;

  // Without traffic.
  std::int32_t prompt = 0;  // 0: not given
  std::int32_t output = 0;
  std::int32_t shared = 0;
  bool startup_log = false;

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

}  // namespace hybridscope
