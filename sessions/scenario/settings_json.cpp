#include "sessions/scenario/settings_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sessions/scenario/not_modelled.h"
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

// Empty for a value that no setting can have: null, an object, an integer beyond 63 bits.
std::optional<SettingValue> value_from_json(const JsonValue& value) {
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
  const std::optional<SettingValue> value = value_from_json(*place);
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

}  // namespace hybridscope
