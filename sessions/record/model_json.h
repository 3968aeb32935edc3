// A ModelSpec as JSON and back, with every dimension, so that a config.json is no longer needed
// once it was read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/model/model_spec.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

nlohmann::ordered_json model_to_json(const ModelSpec& model);

// Fails for unknown and missing keys, wrong types and numbers out of range. build_kv_cache_config
// checks whether the dimensions are consistent.
ModelSpec read_model(const JsonValue& place);

}  // namespace hybridscope
