// A start-up log as what a plan is about: read, compared with what is planned, and shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/settings.h"
#include "sessions/startup/log_comparison.h"
#include "sessions/startup/startup_log.h"

namespace hybridscope {

// "-" is standard input. Error: it cannot be read, or tells nothing of a start.
Result<StartupLog> read_startup_log(const std::string& path);

// The model that the log names, as --model takes it; adds a note where its name only contains the
// one of a known model. Error: the log names none, or one that is not known.
Result<std::string> model_of_log(const StartupLog& log, std::vector<std::string>& notes);

// "NAME is taken to have the shapes of KNOWN": a note.
std::string shapes_note(const std::string& name, const std::string& known);

// The models as --model and --draft-model take them; the GPU is the one of the settings, else the
// log's. Errors: those of plan_start.
Result<LogComparison> compare_with_plan(const StartupLog& log, const std::string& model,
                                        const std::string& draft_model,
                                        const EngineSettings& settings);

// "4 of 5 figures agree".
std::string log_agreement(const LogComparison& comparison);
// The table of a comparison, its notes left out.
std::string log_comparison_text(const LogComparison& comparison);
nlohmann::ordered_json log_comparison_json(const LogComparison& comparison);

}  // namespace hybridscope
