// A ModelSpec as JSON and back, with every dimension, so that what was read from a config.json
// needs that file no more.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/model/model_spec.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

nlohmann::ordered_json model_to_json(const ModelSpec& model);

// Reports unknown and missing keys, wrong types and numbers out of range; whether the dimensions go
// together is for build_kv_cache_config to say.
ModelSpec read_model(const JsonPlace& place, JsonErrors& errors);

}  // namespace hybridscope
