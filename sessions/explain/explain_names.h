// The names of requests and KV cache groups in explanations. The caller supplies them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/ids.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

class Engine;
struct EngineConfig;

struct Names {
  std::function<std::string(RequestId)> request;   // "A"
  std::function<std::string(std::int32_t)> group;  // "group 1 (mamba2)"
  // Decides which rule a post-copy is attributed to.
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
};

// Requests by `request`, groups by number and kind. `config` is copied.
Names make_names(const EngineConfig& config, std::function<std::string(RequestId)> request);
// Names with the engine's names of requests. `engine` must neither move nor go away while the names
// are used.
Names make_names(const Engine& engine);

// "r5" and "group 1", for callers without names.
Names numbered_names();

}  // namespace hybridscope
