#include "sessions/scenario/settings_json.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

std::vector<std::string_view> names_of_section(std::string_view section) {
  std::vector<std::string_view> names;
  for (const Setting& setting : settings_table())
    if (setting.section == section) names.push_back(setting.name);
  for (const SettingNotModelled& row : settings_not_modelled())
    if (row.section == section) names.push_back(row.name);  // refused by read_section
  return names;
}

std::vector<std::string_view> sections() {
  std::vector<std::string_view> names;
  for (const Setting& setting : settings_table())
    if (!setting.section.empty() &&
        std::find(names.begin(), names.end(), setting.section) == names.end())
      names.push_back(setting.section);
  return names;
}

std::optional<std::vector<std::int64_t>> read_integer_list(const JsonValue& array) {
  std::vector<std::int64_t> list;
  for (const JsonValue& item : array.elements()) {
    const std::optional<std::int64_t> number = item.whole();
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

// Empty for a value that the setting cannot have: null where it is not None, an object, an integer
// beyond 63 bits.
std::optional<SettingValue> value_from_json(const Setting& setting, const JsonValue& value) {
  if (value.is_null() && setting.takes_none) return setting_value(std::string("None"));
  if (value.is_boolean()) return setting_value(value.boolean());
  if (value.is_string()) return setting_value(value.string());
  if (const auto number = value.whole()) return setting_value(*number);
  if (value.is_number() && !value.is_integer()) return setting_value(value.number());
  if (value.is_array())
    if (auto list = read_integer_list(value)) return setting_value(std::move(*list));
  return std::nullopt;
}

void read_setting(const JsonValue& object, const Setting& setting, EngineSettings& settings) {
  const std::optional<JsonValue> place = object.find(setting.name);
  if (!place) return;
  const std::optional<SettingValue> value = value_from_json(setting, *place);
  if (!value)
    place->fail(fmt::format("{} is {} (allowed: {})", setting.name, place->describe(),
                            allowed_values(setting)));
  if (const Status stored = set_setting(settings, setting, *value); !stored.ok())
    place->fail(stored.error().message);
}

void read_section(const JsonValue& object, std::string_view section, EngineSettings& settings) {
  for (const Setting& setting : settings_table())
    if (setting.section == section) read_setting(object, setting, settings);
  for (const SettingNotModelled& row : settings_not_modelled())
    if (row.section == section)
      if (const auto place = object.find(row.name))
        place->fail(fmt::format("{} is not modelled: {}", row.name, row.why));
}

void check_setting_keys(const JsonValue& place, const std::vector<std::string_view>& known) {
  report_misplaced_settings(place, known);
  place.check_keys(known);
}

}  // namespace

void report_misplaced_settings(const JsonValue& place, const std::vector<std::string_view>& known) {
  if (!place.is_object()) return;
  for (const auto& [key, value] : place.members()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const Setting& setting : settings_table())
      if (setting.name == key)
        value.fail(fmt::format("unknown key {}, which is a key of {}", quoted_text(key),
                               setting.section.empty() ? "settings" : setting.section));
  }
}

nlohmann::ordered_json setting_to_json(const Setting& setting, const SettingValue& value) {
  if (setting.kind == SettingKind::byte_size)
    return format_byte_size(std::get<std::int64_t>(value));
  return std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, value);
}

EngineSettings read_settings(const JsonValue& place) {
  EngineSettings settings = read_changed_settings(place);
  if (const auto conflict = find_setting_conflict(settings))
    throw JsonFault(place.pointer() + '/' + conflict->setting, conflict->message);
  return settings;
}

EngineSettings read_changed_settings(const JsonValue& place) {
  EngineSettings settings;
  std::vector<std::string_view> known = names_of_section("");
  const std::vector<std::string_view> objects = sections();
  known.insert(known.end(), objects.begin(), objects.end());
  check_setting_keys(place, known);
  read_section(place, "", settings);
  for (const std::string_view section : objects)
    if (const auto object = place.find(section)) {
      check_setting_keys(*object, names_of_section(section));
      read_section(*object, section, settings);
    }
  return settings;
}

EngineSettings read_policy_settings(const JsonValue& object) {
  EngineSettings settings;
  read_setting(object, *find_setting("", "engine"), settings);
  if (const auto policies = object.find("policies")) {
    policies->check_keys(names_of_section("policies"));
    read_section(*policies, "policies", settings);
  }
  return settings;
}

nlohmann::ordered_json settings_to_json(const EngineSettings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Setting& setting : settings_table()) {
    const std::optional<SettingValue> value = get_setting(settings, setting);
    if (!value) continue;
    auto& object = setting.section.empty() ? json : json[std::string(setting.section)];
    object[std::string(setting.name)] = setting_to_json(setting, *value);
  }
  return json;
}

namespace {

struct ShortForm {
  std::string_view path;
  std::string_view option;
};

constexpr ShortForm kShortForms[] = {
    {"mamba_cache_mode", "--mode"},
    {"tensor_parallel_size", "--tp"},
    {"kv_cache_memory_bytes", "--kv-memory"},
    {"gpu_memory_bytes", "--gpu-memory"},
    {"weights_memory_bytes", "--weights-memory"},
    {"activation_memory_bytes", "--activation-memory"},
    {"num_gpu_blocks_override", "--num-blocks"},
    {"acceptance_rate", "--acceptance"},
    {"state_layers", "--layers"},
    {"speculative_config/num_speculative_tokens", "--num-speculative-tokens"},
    {"speculative_config/method", "--speculative-method"},
};

}  // namespace

std::string option_names(const Setting& setting) {
  std::string name = "--" + setting_path(setting);
  std::ranges::replace(name, '_', '-');
  std::ranges::replace(name, '/', '-');
  for (const ShortForm& form : kShortForms)
    if (form.path == setting_path(setting)) {
      if (setting.section == "speculative_config") return std::string(form.option);
      name += "," + std::string(form.option);
    }
  return name;
}

std::string main_option_of(const Setting& setting) {
  const std::string names = option_names(setting);
  return names.substr(0, names.find(','));
}

const Setting* find_setting_called(std::string_view key) {
  for (const Setting& setting : settings_table())
    if (setting_path(setting) == key) return &setting;
  for (const Setting& setting : settings_table())
    if (setting.name == key) return &setting;
  for (const ShortForm& form : kShortForms) {
    std::string name(form.option.substr(2));
    std::ranges::replace(name, '-', '_');
    if (name != key) continue;
    for (const Setting& setting : settings_table())
      if (setting_path(setting) == form.path) return &setting;
  }
  return nullptr;
}

Result<const Setting*> setting_called(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '-', '_');
  if (const Setting* found = find_setting_called(name)) return found;
  std::vector<std::string> known;
  for (const Setting& setting : settings_table()) known.push_back(setting_path(setting));
  return invalid_input(
      fmt::format("there is no setting \"{}\" (known: {})", key, fmt::join(known, ", ")));
}

namespace {

struct ValueNotModelled {
  std::string_view path;   // of the setting
  std::string_view value;  // empty: every value that is not allowed
  std::string_view why;    // and what to do
};

constexpr std::string_view kOtherDraftModel =
    "the draft model's own layers are in no group; method mtp drafts, drops blocks of hits and "
    "schedules by the same rules";
constexpr std::string_view kBlockDrafter =
    "the draft model's own layers are in no group; method mtp is the nearest, but dflash has one "
    "look-ahead slot more, and from 0.33.0 on neither dflash nor dspark drops a block of a hit";
constexpr std::string_view kOtherCacheDtype =
    "values of other sizes and scales lie beside the keys; fp8 has one byte an element";

constexpr std::string_view kOtherDrafter =
    "its own weights are in no group; method draft_model drafts K tokens a step and keeps hits "
    "whole too";
constexpr std::string_view kOtherName = "vLLM runs it as method mtp: set mtp";

constexpr ValueNotModelled kValuesNotModelled[] = {
    {"pipeline_parallel_size", "",
     "each stage has its own layers, blocks and frames in flight; set 1, and describe the layers "
     "of one stage in a config.json to see its pages and blocks"},
    {"speculative_config/method", "eagle", kOtherDraftModel},
    {"speculative_config/method", "eagle3", kOtherDraftModel},
    {"speculative_config/method", "dflash", kBlockDrafter},
    {"speculative_config/method", "dspark", kBlockDrafter},
    {"speculative_config/method", "medusa", kOtherDrafter},
    {"speculative_config/method", "mlp_speculator", kOtherDrafter},
    {"speculative_config/method", "ngram_gpu",
     "on runner V2 it is method ngram (from 0.32.0 on); on V1 it drafts on the device, and ngram 0 "
     "to K tokens a step on the host"},
    {"speculative_config/method", "suffix",
     "method ngram on runner V1 drafts 0 to K tokens a step too"},
    {"kv_cache_dtype", "fp8_inc", kOtherCacheDtype},
    {"kv_cache_dtype", "fp8_ds_mla", kOtherCacheDtype},
    {"kv_cache_dtype", "nvfp4", kOtherCacheDtype},
    {"kv_cache_dtype", "int4_per_token_head", kOtherCacheDtype},
    {"kv_cache_dtype", "int8_per_token_head", kOtherCacheDtype},
    {"kv_cache_dtype", "fp8_per_token_head", kOtherCacheDtype},
};

constexpr std::string_view kWeights =
    "it changes what the weights take of the memory: give weights_memory_bytes";

constexpr SettingNotModelled kSettingsNotModelled[] = {
    {"", "enforce_eager", "without graphs is cudagraph_mode NONE"},
    {"", "compilation_config", "give its cudagraph_mode and cudagraph_capture_sizes as settings"},
    {"", "quantization", kWeights},
    {"", "cpu_offload_gb", kWeights},
    {"", "enable_expert_parallel", kWeights},
    {"", "swap_space", "a request that is preempted is computed again, nothing is swapped"},
    {"speculative_config", "model", "the draft model's layers are in no group: leave its name out"},
    {"speculative_config", "draft_tensor_parallel_size",
     "the draft model's layers are in no group: leave it out"},
};

}  // namespace

std::string_view why_value_not_modelled(std::string_view path, std::string_view value) {
  for (const ValueNotModelled& row : kValuesNotModelled)
    if (row.path == path && (row.value.empty() || row.value == value)) return row.why;
  if (path == "speculative_config/method" && value.ends_with("_mtp")) return kOtherName;
  return {};
}

std::span<const SettingNotModelled> settings_not_modelled() { return kSettingsNotModelled; }

std::string_view why_setting_not_modelled(std::string_view section, std::string_view name) {
  for (const SettingNotModelled& row : kSettingsNotModelled)
    if (row.section == section && row.name == name) return row.why;
  return {};
}

}  // namespace hybridscope
