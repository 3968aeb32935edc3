// What a plan is about: the model and settings of the command line, on top of those of a pasted
// line of vllm serve.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/settings_options.h"
#include "core/base/result.h"
#include "core/model/model_layout.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/serve_line.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

struct PlanCommandOptions {
  std::string model;       // empty: the line's, with traffic kDefaultTrafficModel
  std::string from_serve;  // a line of vllm serve; empty: none
  SettingsOptions settings;
  bool json = false;

  // Without traffic.
  std::int32_t prompt = 0;  // 0: not given
  std::int32_t output = 0;
  std::int32_t shared = 0;
  bool startup_log = false;

  // With traffic.
  std::string traffic;  // file or "synthetic"
  TrafficOptions traffic_options;
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
  bool list = false;
  bool quiet = false;
};

struct PlanQuestion {
  std::optional<ServeLine> line;
  std::string model;  // empty: none was named
  EngineSettings settings;
};

// Error: a line that cannot be read, or that names an unknown model; settings that are not allowed.
Result<PlanQuestion> read_plan_question(const PlanCommandOptions& options);

// Settings of a line and of options besides it, as vLLM starts with them: where the line itself
// asks for mode none and nothing is said of prefix caching, the release (else the newest) turns
// that on.
EngineSettings with_caching_of(const ServeLine& line, const SettingsOptions& options,
                               EngineSettings settings);

// Notes what of the line is not modelled.
void note_not_read(const PlanQuestion& question);

// The line with these settings, and what changes: as text, and as member "serve". `layout`: what
// they start with.
std::string serve_line_text(const ServeLine& line, const EngineSettings& wanted,
                            const ModelLayout& layout);
void add_serve_line(const ServeLine& line, const EngineSettings& wanted, const ModelLayout& layout,
                    nlohmann::ordered_json& json);

}  // namespace hybridscope
