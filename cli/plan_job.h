// What the options of hybridscope plan with --traffic ask for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/settings_options.h"
#include "core/base/result.h"
#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_jobs.h"
#include "sessions/plan/plan_traffic.h"
#include "sessions/plan/sweep.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

struct PlanCommandOptions {
  std::string traffic;  // file or "synthetic"
  TrafficOptions traffic_options;
  std::string model;  // empty: kDefaultTrafficModel
  SettingsOptions settings;
  std::int64_t limit = 0;           // requests of the traffic, 0: all
  std::vector<std::string> sweeps;  // "NAME=VALUE,..."; empty: default_sweeps
  std::int64_t budget = 0;          // combinations, 0: all up to kDefaultBudget
  std::string step_time;            // parse_step_time, or "constants"; empty: none
  std::string prefer = std::string(kDefaultGoals);
  std::int32_t jobs = 0;           // 0: one per core
  std::int64_t top = 0;            // rows of the table, 0: kDefaultRows
  std::string out;                 // result file
  std::string html;                // page, "-": standard output
  std::string shard;               // "I/N"
  std::vector<std::string> merge;  // result files
  bool json = false;
  bool list = false;
  bool quiet = false;
};

// A sweep over more combinations is searched unless --budget says otherwise.
inline constexpr std::int64_t kDefaultBudget = 1000;
inline constexpr std::int64_t kDefaultRows = 30;

struct PlanJob {
  PlanHeader header;
  Sweep sweep;
  std::unique_ptr<PlanTraffic> traffic;
  PlanJobOptions options;
};

// Other step times for which a plan says what it would recommend.
struct OtherStepTime {
  double factor;
  std::string_view words;   // "if steps take half as long"
  std::string_view suffix;  // of the results' names
};
inline constexpr std::array kOtherStepTimes = {
    OtherStepTime{0.5, "if steps take half as long", " (step time x0.5)"},
    OtherStepTime{2, "if steps take twice as long", " (step time x2)"}};

// Goals of --prefer. Error: unknown ones, or ones that need a step time without one.
Result<std::vector<const PlanGoal*>> goals_of(const std::string& prefer, bool has_step_time);

// Reads the traffic. Errors: traffic that cannot be read; sweeps, goals, settings or a shard that
// are not possible.
Result<PlanJob> make_plan_job(const PlanCommandOptions& options);

// What is swept if nothing is said: the cache modes of the model, and max_num_seqs.
Result<std::vector<std::string>> default_sweeps(const std::string& model,
                                                const EngineSettings& settings);

// The sweep of a result file. Error: its sweeps or settings are not this program's.
Result<Sweep> sweep_of(const PlanHeader& header);

}  // namespace hybridscope
