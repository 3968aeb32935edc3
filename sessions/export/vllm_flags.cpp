#include "sessions/export/vllm_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sessions/explain/trace_names.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// Settings that are flags of vllm serve under the same name, besides those of resolved_settings.
bool is_flag(std::string_view key) {
  const Setting* setting = find_setting("", key);
  return key == "speculative_config" || (setting != nullptr && setting->use.vllm_flag);
}

// The values that the engine started with, set by the user or not.
Json resolved_settings(const EngineConfig& config) {
  return {{"mamba_cache_mode", mamba_cache_mode_name(config.mamba_cache_mode)},
          {"block_size", config.block_size},
          {"num_gpu_blocks_override", config.kv_cache_config.num_blocks},
          {"max_model_len", config.max_model_len},
          {"max_num_seqs", config.max_num_seqs},
          {"max_num_batched_tokens", config.max_num_batched_tokens},
          {"enable_prefix_caching", config.enable_prefix_caching},
          {"async_scheduling", config.async_scheduling}};
}

std::string plain_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "--block-size 8", "--no-async-scheduling", "--cudagraph-capture-sizes 1 2 4".
std::string flag_text(std::string_view key, const Json& value) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  if (value.is_boolean()) return fmt::format("--{}{}", value.get<bool>() ? "" : "no-", name);
  if (value.is_object()) return fmt::format("--{} '{}'", name, value.dump());
  if (!value.is_array()) return fmt::format("--{} {}", name, plain_value(value));
  std::string text = "--" + name;
  for (const Json& element : value) text += " " + plain_value(element);
  return text;
}

void add_setting(const std::string& key, const Json& value, VllmFlags& result) {
  if (is_flag(key))
    result.flags.push_back(flag_text(key, value));
  else if (key == "cudagraph_mode")
    result.flags.push_back(flag_text("compilation_config", {{key, value}}));
  else if (key == "ssm_conv_state_layout")
    result.variables.push_back("VLLM_SSM_CONV_STATE_LAYOUT=" + plain_value(value));
  else if (key == "runner")
    result.variables.push_back(
        fmt::format("VLLM_USE_V2_MODEL_RUNNER={}", value == "v2" ? "1" : "0"));
  else
    result.others.push_back(fmt::format("{} {}", key, plain_value(value)));
}

}  // namespace

VllmFlags vllm_flags(const ExportedRun& run) {
  VllmFlags result;
  const Json resolved = resolved_settings(run.setup.config);
  for (const auto& [key, value] : resolved.items()) result.flags.push_back(flag_text(key, value));
  const Json set = settings_to_json(run.scenario.settings);
  for (const auto& [key, value] : set.items())
    if (!resolved.contains(key) && key != "engine") add_setting(key, value, result);
  return result;
}

}  // namespace hybridscope
