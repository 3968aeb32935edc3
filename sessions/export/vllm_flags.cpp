#include "sessions/export/vllm_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

SettingUse use_of(std::string_view key) {
  const Setting* setting = find_setting("", key);
  return setting == nullptr ? SettingUse{} : setting->use;
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
  if (use_of(key).vllm_flag || key == "speculative_config")
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
  const EngineSettings started_with = settings_of(run.setup.config);
  for (const Setting* setting : started_settings())
    result.flags.push_back(
        flag_text(setting->name, setting_to_json(*setting, *get_setting(started_with, *setting))));
  const Json set = settings_to_json(run.scenario.settings);
  for (const auto& [key, value] : set.items())
    if (use_of(key).started_place == 0 && key != "engine") add_setting(key, value, result);
  return result;
}

}  // namespace hybridscope
