#include "sessions/scenario/settings_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sessions/scenario/not_modelled.h"
#include "sessions/text/byte_size.h"

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

std::optional<std::vector<std::int64_t>> read_integer_list(const nlohmann::json& array) {
  std::vector<std::int64_t> list;
  for (const nlohmann::json& item : array) {
    const std::optional<std::int64_t> number = whole_number(item);
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

// Empty for a value that no setting can have: null, an object, an integer beyond 63 bits.
std::optional<SettingValue> value_from_json(const nlohmann::json& value) {
  if (value.is_boolean()) return setting_value(value.get<bool>());
  if (value.is_string()) return setting_value(value.get<std::string>());
  if (const auto number = whole_number(value)) return setting_value(*number);
  if (value.is_number_float()) return setting_value(value.get<double>());
  if (value.is_array())
    if (auto list = read_integer_list(value)) return setting_value(std::move(*list));
  return std::nullopt;
}

void read_setting(const ObjectReader& reader, const Setting& setting, EngineSettings& settings,
                  JsonErrors& errors) {
  const std::optional<JsonPlace> place = reader.find(setting.name);
  if (!place) return;
  const std::optional<SettingValue> value = value_from_json(*place->value);
  if (!value)
    return errors.fail(place->pointer,
                       fmt::format("{} is {} (allowed: {})", setting.name,
                                   describe_json(*place->value), allowed_values(setting)));
  if (const Status stored = set_setting(settings, setting, *value); !stored.ok())
    errors.fail(place->pointer, stored.error().message);
}

void read_section(const ObjectReader& reader, std::string_view section, EngineSettings& settings,
                  JsonErrors& errors) {
  for (const Setting& setting : settings_table())
    if (setting.section == section) read_setting(reader, setting, settings, errors);
  for (const SettingNotModelled& row : settings_not_modelled())
    if (row.section == section)
      if (const auto place = reader.find(row.name))
        errors.fail(place->pointer, fmt::format("{} is not modelled: {}", row.name, row.why));
}

// The object's keys are checked first: an ObjectReader knows none of other objects.
ObjectReader settings_reader(const JsonPlace& place, const std::vector<std::string_view>& known,
                             JsonErrors& errors) {
  report_misplaced_settings(place, known, errors);
  return ObjectReader(place, known, errors);
}

}  // namespace

void report_misplaced_settings(const JsonPlace& place, const std::vector<std::string_view>& known,
                               JsonErrors& errors) {
  if (!place.value->is_object()) return;
  for (const auto& [key, value] : place.value->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const Setting& setting : settings_table())
      if (setting.name == key)
        return errors.fail(child_pointer(place.pointer, key),
                           fmt::format("unknown key {}, which is a key of {}", quoted_text(key),
                                       setting.section.empty() ? "settings" : setting.section));
  }
}

nlohmann::ordered_json setting_to_json(const Setting& setting, const SettingValue& value) {
  if (setting.kind == SettingKind::byte_size)
    return format_byte_size(std::get<std::int64_t>(value));
  return std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, value);
}

EngineSettings read_settings(const JsonPlace& place, JsonErrors& errors) {
  EngineSettings settings = read_changed_settings(place, errors);
  if (const auto conflict = find_setting_conflict(settings))
    errors.fail(place.pointer + '/' + conflict->setting, conflict->message);
  return settings;
}

EngineSettings read_changed_settings(const JsonPlace& place, JsonErrors& errors) {
  EngineSettings settings;
  std::vector<std::string_view> known = names_of_section("");
  const std::vector<std::string_view> objects = sections();
  known.insert(known.end(), objects.begin(), objects.end());
  const ObjectReader top = settings_reader(place, known, errors);
  read_section(top, "", settings, errors);
  for (const std::string_view section : objects)
    if (const auto object = top.find(section))
      read_section(settings_reader(*object, names_of_section(section), errors), section, settings,
                   errors);
  return settings;
}

EngineSettings read_policy_settings(const ObjectReader& reader, JsonErrors& errors) {
  EngineSettings settings;
  read_setting(reader, *find_setting("", "engine"), settings, errors);
  if (const auto policies = reader.find("policies"))
    read_section(ObjectReader(*policies, names_of_section("policies"), errors), "policies",
                 settings, errors);
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
