#include "sessions/plan/serve_flags.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace hybridscope {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair kShortFlags[] = {
    {"tp", "tensor-parallel-size"},
    {"pp", "pipeline-parallel-size"},
    {"dp", "data-parallel-size"},
    {"sc", "speculative-config"},
    {"cc", "compilation-config"},
    {"kv-cache-memory", "kv-cache-memory-bytes"},
    {"O", "optimization-level"},
    {"dcp", "decode-context-parallel-size"},
    {"pcp", "prefill-context-parallel-size"},
};

// Settings that are flags, besides those that the table marks as exported.
constexpr std::array<std::string_view, 1> kMoreFlags = {"kv_cache_memory_bytes"};

constexpr Pair kJsonKeys[] = {
    {"speculative-config", "method"},
    {"speculative-config", "num_speculative_tokens"},
    {"compilation-config", "cudagraph_mode"},
    {"compilation-config", "cudagraph_capture_sizes"},
    {"compilation-config", "max_cudagraph_capture_size"},
};

constexpr Pair kVariables[] = {
    {"VLLM_USE_V2_MODEL_RUNNER", "runner"},
    {"VLLM_SSM_CONV_STATE_LAYOUT", "ssm_conv_state_layout"},
};

// Flags of vLLM without a value whose names do not show it.
constexpr std::array<std::string_view, 18> kWithoutValue = {
    "trust-remote-code",     "headless",           "data-parallel-external-lb",
    "language-model-only",   "async-scheduling",   "data-parallel-hybrid-lb",
    "skip-mm-profiling",     "use-tqdm-on-load",   "return-tokens-as-token-ids",
    "allow-credentials",     "async-engine",       "calculate-kv-scales",
    "skip-tokenizer-init",   "h11-allow-insecure", "fully-sharded-loras",
    "interleave-mm-strings", "mm-encoder-only",    "kv-sharing-fast-prefill"};

bool has_own_flag(const Setting& setting) {
  return setting.section.empty() &&
         (setting.use.vllm_flag || setting.use.started_place > 0 ||
          std::ranges::find(kMoreFlags, setting.name) != kMoreFlags.end());
}

// "8k" -> "8000", "8K" -> "8192", "1.5M" -> "1572864"; other text unchanged.
std::string plain_number(std::string_view text) {
  constexpr std::string_view kNumberUnits = "kmgtKMGT";
  const std::size_t unit = text.empty() ? kNumberUnits.npos : kNumberUnits.find(text.back());
  if (unit == kNumberUnits.npos) return std::string(text);
  const std::string number(text.substr(0, text.size() - 1));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || end != number.c_str() + number.size()) return std::string(text);
  const double base = unit < 4 ? 1000.0 : 1024.0;
  const double whole = value * std::pow(base, static_cast<double>(unit % 4 + 1));
  if (!(whole >= 0 && whole < 9e15)) return std::string(text);
  return std::to_string(static_cast<std::int64_t>(whole));
}

}  // namespace

namespace {

// argparse takes the start of a flag's name for it where no other begins alike:
// "--gpu-memory-util".
const Setting* setting_of_shortened(std::string_view name) {
  constexpr std::size_t kShortest = 5;
  const Setting* only = nullptr;
  for (const Setting& setting : settings_table()) {
    if (name.size() < kShortest || !flag_of_setting(setting).starts_with("--" + std::string(name)))
      continue;
    if (only != nullptr) return nullptr;
    only = &setting;
  }
  return only;
}

}  // namespace

std::string flag_name(std::string_view word) {
  const bool is_long = word.starts_with("--");
  if (!word.starts_with('-') || word.size() < 2) return {};
  std::string name(word.substr(is_long ? 2 : 1));
  std::ranges::replace(name, '_', '-');
  const std::string head = name.substr(0, name.find('.'));  // "sc" of "sc.method"
  for (const auto& [shorter, longer] : kShortFlags)
    if (head == shorter) return std::string(longer) + name.substr(head.size());
  return name;
}

const Setting* setting_of_flag(std::string_view name, bool& negated) {
  negated = false;
  const auto find = [](std::string_view flag) -> const Setting* {
    std::string key(flag);
    std::ranges::replace(key, '-', '_');
    const Setting* setting = find_setting("", key);
    return setting != nullptr && has_own_flag(*setting) ? setting : nullptr;
  };
  if (const Setting* setting = find(name)) return setting;
  if (!name.starts_with("no-")) return setting_of_shortened(name);
  const Setting* setting = find(name.substr(3));
  if (setting == nullptr || setting->kind != SettingKind::boolean) return nullptr;
  negated = true;
  return setting;
}

bool is_json_flag(std::string_view name) {
  return std::ranges::find(kJsonKeys, name, &Pair::first) != std::end(kJsonKeys);
}

const Setting* setting_in_json_flag(std::string_view name, std::string_view key) {
  std::string spelled(key);
  std::ranges::replace(spelled, '-', '_');
  for (const auto& [flag, own] : kJsonKeys)
    if (flag == name && own == spelled)
      return find_setting(name == "speculative-config" ? "speculative_config" : "", own);
  return nullptr;
}

std::string_view json_flag_of(const Setting& setting) {
  if (has_own_flag(setting)) return {};
  for (const auto& [flag, key] : kJsonKeys)
    if (setting_in_json_flag(flag, setting.name) == &setting && key == setting.name) return flag;
  return {};
}

std::string flag_of_setting(const Setting& setting) {
  if (!has_own_flag(setting)) return {};
  std::string name(setting.name);
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

bool takes_value(std::string_view name) {
  for (const std::string_view start : {"no-", "enable-", "disable-"})
    if (name.starts_with(start)) return false;
  return std::ranges::find(kWithoutValue, name) == kWithoutValue.end();
}

Status set_flag(EngineSettings& settings, const Setting& setting, std::string_view value) {
  std::string text(value);
  if (setting.kind == SettingKind::integer || setting.kind == SettingKind::byte_size)
    text = plain_number(value);
  if (setting.kind == SettingKind::integer_list)
    std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  if (setting_path(setting) == "speculative_config/method" && text.ends_with("_mtp")) text = "mtp";
  return set_setting_text(settings, setting, text);
}

std::string flag_value(const EngineSettings& settings, const Setting& setting) {
  const auto value = get_setting(settings, setting);
  if (!value) return {};
  if (const auto* flag = std::get_if<bool>(&*value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&*value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&*value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&*value)) return *text;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(*value), " "));
}

const Setting* setting_of_variable(std::string_view name) {
  for (const auto& [variable, setting] : kVariables)
    if (variable == name) return find_setting("", setting);
  return nullptr;
}

std::string_view variable_of_setting(const Setting& setting) {
  for (const auto& [variable, name] : kVariables)
    if (setting.section.empty() && setting.name == name) return variable;
  return {};
}

std::string setting_text_of_variable(const Setting& setting, std::string_view value) {
  if (setting.name != "runner") return std::string(value);
  return value == "1" || value == "true" ? "v2" : "v1";
}

std::string variable_value(const EngineSettings& settings, const Setting& setting) {
  const std::string value = flag_value(settings, setting);
  if (setting.name != "runner" || value.empty()) return value;
  return value == "v2" ? "1" : "0";
}

}  // namespace hybridscope
