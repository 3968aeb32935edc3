// What a release plans before the first step of a model with a user's settings
// (sessions/startup/startup_plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "sessions/scenario/settings.h"
#include "sessions/startup/startup_plan.h"

namespace hybridscope {

// Whose max_model_len; the longest that fits is that of --max-model-len auto.
enum class WantedLength : std::uint8_t { of_settings, longest_that_fits };

struct StartPlan {
  StartupModel model;
  StartupSettings settings;
  StartupPlan plan;
};

// The release is that of the settings' profile, else the newest; memory is that of the settings,
// else kDefaultMemoryBytes. Errors: those of read_startup_model; invalid_input, a model without a
// config.json.
Result<StartPlan> plan_start(const ModelSpec& model, const EngineSettings& settings,
                             WantedLength length = WantedLength::of_settings);

// The memory of the block pool, where the settings name neither memory nor blocks.
inline constexpr std::int64_t kDefaultMemoryBytes = std::int64_t{60} << 30;
std::int64_t resolved_pool_memory(const EngineSettings& settings);

// As the table of settings spells it: "auto", "float32".
std::string dtype_text(const EngineSettings& settings, std::string_view name);

}  // namespace hybridscope
