// Reads a Hugging Face config.json into a ModelSpec (`--model PATH`), for the architectures of the
// presets; any other is refused with what is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace hybridscope {

// The known architectures, as config.json spells them ("architectures"[0]).
std::vector<std::string> known_hf_architectures();

struct HfConfigText {
  std::string_view text;  // the file's content
  std::string_view file;  // its name, for messages and for ModelSpec.source
};

// Error corrupt: not UTF-8, not JSON, not an object. Error invalid_input: architecture unknown, a
// key missing, of the wrong type or out of range; the message names file, key and what was found.
Result<ModelSpec> parse_hf_config(const HfConfigText& config);

// Reads the file at `path` and parses it. Error io: it cannot be read, or is larger than 16 MiB.
Result<ModelSpec> load_hf_config(const std::string& path);

// A preset's name, or a path to a config.json (anything with a '/' or ending in ".json"). Error
// not_found with the known presets otherwise.
Result<ModelSpec> resolve_model(const std::string& name_or_path);

}  // namespace hybridscope
