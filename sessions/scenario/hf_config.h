// The model that a user names (`--model`): a preset, a known name, or a Hugging Face config.json.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "sessions/startup/architectures.h"

namespace hybridscope {

// A model that is planned and not run has not_run_because. Error corrupt: not UTF-8, not JSON, not
// an object. Error invalid_input: an unknown architecture; a key that is missing, has the wrong
// type or is out of range. The message names file, key and what was found.
Result<ModelSpec> parse_hf_config(const ConfigText& config);

// Reads and parses the file at `path`. Error io: the file cannot be read or is larger than 16 MiB.
Result<ModelSpec> load_hf_config(const std::string& path);

// A preset's name, or the path of a config.json (contains '/' or ends in ".json"). Error not_found:
// neither; the message lists the presets.
// `draft_model`: whose layers cache beside the model's, a known name or a config.json; empty: none.
Result<ModelSpec> resolve_model(const std::string& name_or_path,
                                const std::string& draft_model = {});

}  // namespace hybridscope
