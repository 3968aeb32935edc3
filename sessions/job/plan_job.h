// What the options of hybridscope plan with --traffic ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/job/plan_question.h"
#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_jobs.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/plan_story.h"
#include "sessions/plan/sweep.h"
#include "sessions/text/command_files.h"

namespace hybridscope {

// A sweep over more combinations is searched unless --budget says otherwise.
inline constexpr std::int64_t kDefaultBudget = 1000;
inline constexpr std::int64_t kDefaultRows = 30;

struct PlanJob {
  // On the cache modes of the combinations (mode_note) and on requests that none of them serves.
  std::vector<std::string> notes;
  std::optional<ServeLine> line;  // that it started from
  std::optional<LogComparison> log;
  PlanHeader header;
  Sweep sweep;
  std::unique_ptr<PlanTraffic> traffic;
  PlanSearchOptions options;
};

// What a line of vllm serve has to say for a combination.
struct WantedSettings {
  EngineSettings settings;
  ModelLayout layout;
};
// The settings of a combination; empty: it is not possible, or none of the job's.
std::optional<WantedSettings> wanted_settings(const PlanJob& job, std::string_view combination);

// Goals of --prefer. Error: unknown ones, or ones that need a step time without one.
Result<std::vector<const PlanGoal*>> goals_of(const std::string& prefer, bool has_step_time);

// The axes that options --sweep name. Error: the first option that names none.
Result<std::vector<SweepAxis>> parse_sweeps(const std::vector<std::string>& texts);

// What it reads and writes.
CommandFiles files_of(const PlanJobOptions& options);

// Reads the traffic. Errors: traffic that cannot be read; sweeps, goals, settings or a shard that
// are not possible.
Result<PlanJob> make_plan_job(const PlanJobOptions& options);

// What is swept if nothing is said: the cache modes of the model, unless prefix caching is turned
// off, and max_num_seqs.
Result<std::vector<std::string>> default_sweeps(const std::string& model,
                                                const EngineSettings& settings);

// What hybridscope plan prints of a sweep: a table, the recommendation with its reasons, JSON.

// Heading, table and reasons.
std::string format_plan(const PlanView& view, std::int64_t most_rows);
// The front first, the recommended one on top, then the others; at most `most_rows`.
std::string format_plan_table(const PlanView& view, std::int64_t most_rows);
std::string format_plan_reasons(const PlanView& view);

// {"overload": a sentence or null, "plan": header, "goals": [...], "recommended": name,
// "front": [names], "reasons": [...], "results": [...]}.
nlohmann::ordered_json plan_to_json(const PlanView& view);

}  // namespace hybridscope
