// From a model and the user's settings to the EngineConfig an engine starts with.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/model/model_layout.h"
#include "sessions/arriving_request.h"
#include "sessions/settings.h"

namespace hybridscope {

struct EngineSetup {
  ModelLayout layout;  // why the sizes are what they are
  EngineConfig config;
};

// `model` is a preset name or the path of a config.json. Error: an unknown model, what
// find_setting_conflict finds, what the model's sizes do not allow.
Result<EngineSetup> make_engine_setup(const std::string& model, const EngineSettings& settings);
Result<EngineSetup> make_engine_setup(const ModelSpec& model, const EngineSettings& settings);

// Error when the request could never finish: a prompt that max_model_len or (without chunked
// prefill) the token budget does not hold, or more blocks than the pool has.
Status check_request_fits(const EngineConfig& config, const AddRequest& request);

}  // namespace hybridscope
