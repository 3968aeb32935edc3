// Reads a Hugging Face config.json into a ModelSpec (`--model PATH`). Supports the architectures of
// the presets; for any other the error says what is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "sessions/startup/hf_reader.h"

namespace hybridscope {

// The supported architectures, as spelled in config.json ("architectures"[0]).
std::vector<std::string> known_hf_architectures();

struct HfConfigText {
  std::string_view text;  // the file's content
  std::string_view file;  // its name, for messages and ModelSpec.source
};

// Error corrupt: not UTF-8, not JSON, not an object. Error invalid_input: an unknown architecture;
// a key that is missing, has the wrong type or is out of range. The message names file, key and
// what was found.
Result<ModelSpec> parse_hf_config(const HfConfigText& config);

// Reads and parses the file at `path`. Error io: the file cannot be read or is larger than 16 MiB.
Result<ModelSpec> load_hf_config(const std::string& path);

// A preset's name, or the path of a config.json (contains '/' or ends in ".json"). Error not_found:
// neither; the message lists the presets.
Result<ModelSpec> resolve_model(const std::string& name_or_path);

// How each supported architecture spells its dimensions in config.json. Only for hf_config.cpp.

struct HfFamily {
  const char* architecture;  // config.json "architectures"[0]
  const char* model_type;    // "model_type", where there are no architectures
  // Sets everything but name, source and dtype.
  void (*read)(const HfConfigReader& reader, ModelSpec& model);
};

// One row per architecture; add new ones here.
std::span<const HfFamily> hf_families();

}  // namespace hybridscope
