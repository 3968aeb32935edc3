// What a plan is about: the given model and settings, on top of those of a pasted line of
// vllm serve or of a start-up log.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_layout.h"
#include "sessions/job/run_options.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/serve_line.h"
#include "sessions/startup/log_comparison.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

struct PlanJobOptions {
  std::string model;        // empty: the line's, with traffic kDefaultTrafficModel
  std::string draft_model;  // name or config.json; empty: none
  std::string from_serve;   // a line of vllm serve; empty: none
  std::string from_log;     // a start-up log, whose line it starts from; empty: none
  SettingsOptions settings;
  std::string traffic;  // file or "synthetic"
  TrafficOptions traffic_options;
  std::int64_t limit = 0;           // requests of the traffic, 0: all
  std::vector<std::string> sweeps;  // "NAME=VALUE,..."; empty: default_sweeps
  std::int64_t budget = 0;          // combinations, 0: all up to kDefaultBudget
  std::string step_time;            // parse_step_time, or "constants"; empty: none
  std::string prefer = std::string(kDefaultGoals);
  std::int32_t jobs = 0;             // 0: one per core
  std::string out;                   // result file
  std::string shard;                 // "I/N"
  std::function<bool()> go_on = {};  // false: it ends before the next step; may be empty
};

struct PlanQuestion {
  std::optional<ServeLine> line;
  std::string model;        // empty: none was named
  std::string draft_model;  // empty: none
  EngineSettings settings;
  EngineSettings pasted = {};  // of the line and the log alone
  std::optional<LogComparison> log = {};
  std::vector<std::string> notes = {};  // on what the log does not say
};

// Error: a line or log that cannot be read, or that names an unknown model; settings that are not
// allowed.
Result<PlanQuestion> read_plan_question(const PlanJobOptions& options);

// Settings of a line and of options besides it, as vLLM starts with them: where the line itself
// asks for mode none and nothing is said of prefix caching, the release (else the newest) turns
// that on.
EngineSettings with_caching_of(const ServeLine& line, const SettingsOptions& options,
                               EngineSettings settings);

// Settings as a line asks for them: a log told the release, the GPU and the memory that was left.
EngineSettings without_logged(const std::optional<LogComparison>& log,
                              const std::optional<ServeLine>& line, EngineSettings settings);

// What of the line is not modelled, in sentences.
std::vector<std::string> notes_on_line(const std::optional<ServeLine>& line);

// The line with these settings, and what changes: as text, and as member "serve". `layout`: what
// they start with.
std::string serve_line_text(const ServeLine& line, const EngineSettings& wanted,
                            const ModelLayout& layout);
void add_serve_line(const ServeLine& line, const EngineSettings& wanted, const ModelLayout& layout,
                    nlohmann::ordered_json& json);

}  // namespace hybridscope
