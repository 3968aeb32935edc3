#include "tests/core/caching/golden_config.h"

#include <string>

namespace hybridscope::test {
namespace {

MambaCacheMode mode_from_golden(const std::string& name) {
  if (name == "align") return MambaCacheMode::align;
  return name == "all" ? MambaCacheMode::all : MambaCacheMode::none;
}

KVCacheGroup group_from_golden(const Json& group, const Json& config) {
  KVCacheGroup result;
  result.is_eagle_group = group.value("is_eagle_group", false);
  const auto block_size = group.at("block_size").get<std::int32_t>();
  if (group.at("type") == "full") {
    result.spec = FullAttentionSpec{.block_size = block_size};
    return result;
  }
  MambaSpec spec;
  spec.block_size = block_size;
  spec.mamba_cache_mode = mode_from_golden(config.at("mamba_cache_mode"));
  spec.num_speculative_blocks = config.at("num_speculative_blocks");
  result.spec = spec;
  return result;
}

}  // namespace

KVCacheManagerConfig config_from_golden(const Json& config) {
  KVCacheManagerConfig result;
  result.kv_cache_config.num_blocks = config.at("num_blocks");
  for (const Json& group : config.at("groups"))
    result.kv_cache_config.groups.push_back(group_from_golden(group, config));
  result.max_model_len = config.value("max_model_len", 1 << 20);
  result.enable_caching = config.value("enable_caching", true);
  result.use_eagle = config.at("use_eagle");
  result.scheduler_block_size = config.at("scheduler_block_size");
  result.hash_block_size = config.at("hash_block_size");
  result.watermark = config.value("watermark", 0.0);
  result.policies = pages_cache_policies();
  return result;
}

}  // namespace hybridscope::test
