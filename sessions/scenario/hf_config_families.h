// How each known architecture spells its dimensions in config.json. Used by hf_config.cpp only.
#pragma once

#include <span>

#include "core/model/model_spec.h"
#include "sessions/scenario/hf_config_reader.h"

namespace hybridscope {

struct HfFamily {
  const char* architecture;                                // config.json "architectures"[0]
  void (*read)(HfConfigReader& reader, ModelSpec& model);  // all but name, source and dtype
};

// One row each; new architectures are added here.
std::span<const HfFamily> hf_families();

}  // namespace hybridscope
