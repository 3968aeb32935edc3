// Makes a model that runs out of a folder in Hugging Face layout: config.json and safetensors
// (numerics: architectures and weights).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

struct LoadedModel {
  ModelSpec spec;  // what an engine needs to know of it
  HybridModel model;
};

// Reads all weights as float32. `most_bytes`: that they may take in memory; 0: what the machine can
// give. Errors, before anything runs, with file and tensor: those of load_weights_config and
// Safetensors; a tensor that is missing, of another shape, that the architecture does not have, of
// another dtype than F32, BF16 and F16, or with values that are not finite; weights larger than
// the memory, with the sizes.
Result<LoadedModel> load_model(const std::string& folder, std::int64_t most_bytes = 0);

// Where the language model lies that comes with the program: its weights are too large to be a part
// of it.

// Where the shipped model lies, from the project's root.
inline constexpr const char* kShippedModel = "scenarios/models/jargon-gdn";

// Its folder: in the working folder, else in that of the program, in share/hybridscope there, or in
// the same of a folder above, so that a program in the project's build folder finds it from
// anywhere. Error not_found: it is in none of them.
Result<std::string> find_shipped_model();

}  // namespace hybridscope
