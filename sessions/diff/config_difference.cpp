#include "sessions/diff/config_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/model/model_layout.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

// The setting as text; "-" when it is not set.
std::string setting_text(const EngineSettings& settings, const Setting& setting) {
  const auto value = get_setting(settings, setting);
  if (!value) return "-";
  if (const auto* flag = std::get_if<bool>(&*value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&*value)) return std::to_string(*number);
  if (const auto* fraction = std::get_if<double>(&*value)) return fmt::format("{}", *fraction);
  if (const auto* text = std::get_if<std::string>(&*value)) return *text;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(*value), ","));
}

std::string group_text(const KVCacheGroup& group) {
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  return fmt::format("{} with blocks of {}",
                     mamba != nullptr ? mamba_type_name(mamba->mamba_type) : "attention",
                     group.block_size());
}

std::string groups_text(const EngineConfig& config) {
  std::vector<std::string> texts;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    texts.push_back(group_text(group));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<ConfigDifference> compare_configs(const EngineConfig& a, const EngineConfig& b) {
  std::vector<ConfigDifference> differences;
  const EngineSettings settings_a = settings_of(a);
  const EngineSettings settings_b = settings_of(b);
  const auto add = [&](std::string name, std::string value_a, std::string value_b) {
    if (value_a != value_b)
      differences.push_back({std::move(name), std::move(value_a), std::move(value_b)});
  };
  for (const Setting& setting : settings_table())
    add(setting_path(setting), setting_text(settings_a, setting),
        setting_text(settings_b, setting));
  add("kv_cache_groups", groups_text(a), groups_text(b));
  add("conv_kernel", std::to_string(a.conv_kernel), std::to_string(b.conv_kernel));
  add("chunk_size", std::to_string(a.chunk_size), std::to_string(b.chunk_size));
  add("scheduler_block_size", std::to_string(a.scheduler_block_size),
      std::to_string(b.scheduler_block_size));
  add("hash_block_size", std::to_string(a.hash_block_size), std::to_string(b.hash_block_size));
  return differences;
}

std::vector<std::string> reasons_against_steps(const EngineConfig& a, const EngineConfig& b) {
  std::vector<std::string> reasons;
  if (a.mamba_cache_mode != b.mamba_cache_mode)
    reasons.push_back(fmt::format(
        "the modes differ ({} and {}): states lie in other columns and chunks end elsewhere",
        mamba_cache_mode_name(a.mamba_cache_mode), mamba_cache_mode_name(b.mamba_cache_mode)));
  const bool same_groups = groups_text(a) == groups_text(b);
  if (!same_groups)
    reasons.push_back(
        fmt::format("the KV-cache groups differ ({}; and {}): models or block sizes "
                    "are not the same, nor are block tables and hits",
                    groups_text(a), groups_text(b)));
  if (a.num_speculative_tokens != b.num_speculative_tokens)
    reasons.push_back(fmt::format("K differs ({} and {}): steps accept other numbers of tokens",
                                  a.num_speculative_tokens, b.num_speculative_tokens));
  if (a.async_scheduling != b.async_scheduling)
    reasons.push_back(
        "only one is scheduled asynchronously: there a frame returns a step later, so every step "
        "differs");
  return reasons;
}

}  // namespace hybridscope
