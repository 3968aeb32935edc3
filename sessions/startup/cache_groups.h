// Groups of layers that share a block table, what a block takes, and what a request needs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/startup/layer_spec.h"

namespace hybridscope {

struct StartupGroup {
  LayerSpec spec = {};  // of its first layer; page_size_bytes: as settled for the group
  std::vector<std::int32_t> layers = {};  // indices into StartupModel::layers, in order
};

struct StartupGroups {
  std::vector<StartupGroup> groups = {};
  std::int64_t bytes_per_block = 0;  // in all layers of a group, the widest one
};

// The groups (vLLM v1/core/kv_cache_utils.py, get_kv_cache_groups), and lines that are logged.
// Errors: pages that cannot be made equal; no layer caches.
Result<StartupGroups> group_layers(const StartupModel& model, const StartupSettings& settings,
                                   std::span<const LayerSpec> specs,
                                   std::vector<std::string>& lines);

// Blocks that a request of `num_tokens` takes in a group at most.
std::int64_t blocks_per_request(const LayerSpec& spec, const StartupSettings& settings,
                                const StartupConfig& config, std::int64_t num_tokens);

}  // namespace hybridscope
