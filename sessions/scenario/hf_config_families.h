// How each supported architecture spells its dimensions in config.json. Only for hf_config.cpp.
#pragma once

#include <span>

#include "core/model/model_spec.h"
#include "sessions/scenario/hf_config.h"

namespace hybridscope {

struct HfFamily {
  const char* architecture;  // config.json "architectures"[0]
  const char* model_type;    // "model_type", where there are no architectures
  // Sets everything but name, source and dtype.
  void (*read)(const HfConfigReader& reader, ModelSpec& model);
};

// One row per architecture; add new ones here.
std::span<const HfFamily> hf_families();

}  // namespace hybridscope
