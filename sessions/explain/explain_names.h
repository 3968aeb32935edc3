// How explanations call requests and KV-cache groups. Whoever knows the names supplies them.
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
  // Tells which rule a post-copy comes from.
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
};

// Requests by `request`, groups by number and kind. `config` is copied from, not kept.
Names make_names(const EngineConfig& config, std::function<std::string(RequestId)> request);
// The same, requests as `engine` calls them. `engine` stays where it is as long as the names live.
Names make_names(const Engine& engine);

// "r5" and "group 1", where nobody knows better.
Names numbered_names();

}  // namespace hybridscope
